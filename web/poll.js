/* Polling the server, as long as the page is visible.
 *
 * A hidden page sends no requests, and a view that was left ends by its signal. When the server
 * does not answer, the page says so, shows the last figures, and goes on polling, more slowly. A
 * request that the server refuses would be refused again: the view shows that once. */
import { Problem } from "./api.js";
import { say } from "./dom.js";
import { timeOf } from "./words.js";

const SLOWEST_MS = 5000;
let heardMs = 0;
const lost = new Map(); /* the polls that get no answer now, and why */

/* The line at the top. It changes only when the state does: screen readers read every change. */
export function tell(kind, text) {
    const line = document.getElementById("status");
    line.dataset.kind = kind;
    say(line, text);
}

function tellLost(error) {
    const why = error instanceof Problem ? `The server has a problem: ${error.message}`
        : "The server does not answer.";
    const since = heardMs ? ` Last heard at ${timeOf(heardMs * 1000)}.` : "";
    tell("lost", `${why}${since} Trying again.`);
}

/* Sleeps; ends early by the signal or by `wake`. A page is open for days: no listener may stay. */
function sleep(ms, signal, waker) {
    return new Promise((resolve) => {
        const end = () => {
            clearTimeout(timer);
            signal.removeEventListener("abort", end);
            resolve();
        };
        const timer = setTimeout(end, ms);
        waker.wake = end;
        signal.addEventListener("abort", end);
    });
}

function shown(signal) {
    return new Promise((resolve) => {
        const look = () => {
            if (document.hidden && !signal.aborted)
                return;
            document.removeEventListener("visibilitychange", look);
            signal.removeEventListener("abort", look);
            resolve();
        };
        document.addEventListener("visibilitychange", look);
        signal.addEventListener("abort", look);
        look();
    });
}

/* The server is well when all polls are answered. */
function tellHealth() {
    const [error] = lost.values();
    if (error)
        tellLost(error);
    else
        tell("live", "Live");
}

/* Does the server refuse this request for good? Not for lack of a token, for a limit or for lack of
 * room. */
const isRefusal = (error) => error instanceof Problem && error.status >= 400 &&
    error.status < 500 && ![401, 403, 408, 429].includes(error.status);

/* Takes one turn. Resolves to the problem, or to null. */
async function turnOnce(turn, signal) {
    try {
        await turn(signal);
        heardMs = Date.now();
        return null;
    } catch (error) {
        return error;
    }
}

/* Resolves to whether polling goes on. */
function judge(turn, error, refused) {
    const isOver = refused && isRefusal(error);
    if (error && !isOver)
        lost.set(turn, error);
    else
        lost.delete(turn);
    if (isOver)
        refused(error);
    tellHealth();
    return !isOver;
}

/* Takes a turn every `periodMs` until the signal. The returned object's `now()` takes the next turn
 * at once. If there is a `refused`, a refused turn is the last, and `refused` is called with the
 * problem. */
export function repeat(turn, periodMs, signal, refused = null) {
    const waker = { wake: () => {}, isDue: false };
    (async () => {
        let lateMs = 0;
        while (!signal.aborted) {
            if (document.hidden) {
                tell("paused", "Paused while the page is hidden");
                await shown(signal);
                continue;
            }
            waker.isDue = false;
            const error = await turnOnce(turn, signal);
            if (signal.aborted || !judge(turn, error, refused))
                break;
            lateMs = error ? Math.min(SLOWEST_MS, lateMs + 1000) : 0;
            if (!waker.isDue)
                await sleep(Math.max(lateMs, periodMs), signal, waker);
        }
        lost.delete(turn);
    })();
    return { now: () => {
        waker.isDue = true; /* the turn under way may have sent its request too early */
        waker.wake();
    } };
}
