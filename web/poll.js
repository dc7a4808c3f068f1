/* Asking again and again, as long as somebody looks.
 *
 * A hidden page asks nothing, and a view that was left is over with its signal. When the server
 * does not answer, the page says so, shows what it had, and goes on asking, more slowly. What it
 * refuses because of what was asked it would refuse again: that is told once, in the view. */
import { Problem } from "./api.js";
import { say } from "./dom.js";
import { timeOf } from "./words.js";

const SLOWEST_MS = 5000;
let heardMs = 0;
const lost = new Map(); /* what is not answered now, and why */

/* The line at the top. Only a change is said, not that all is well every second. */
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

/* Ends early when the signal or `wake` says so. A page is open for days: nothing may pile up. */
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

/* All is well when all that is asked is answered. */
function tellHealth() {
    const [error] = lost.values();
    if (error)
        tellLost(error);
    else
        tell("live", "Live");
}

/* The server is well and will not answer this: not for want of a token, of patience or of room. */
const isRefusal = (error) => error instanceof Problem && error.status >= 400 &&
    error.status < 500 && ![401, 403, 408, 429].includes(error.status);

/* What went wrong, or null. */
async function turnOnce(turn, signal) {
    try {
        await turn(signal);
        heardMs = Date.now();
        return null;
    } catch (error) {
        return error;
    }
}

/* Whether to go on. */
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

/* Takes a turn every `periodMs` until the signal. `now()` of what it returns takes the next one at
 * once. A turn that is refused is the last where there is a `refused`, which is told why. */
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
        waker.isDue = true; /* a turn under way may have asked too early */
        waker.wake();
    } };
}
