/* Reads a request from JSON without a tree.
 *
 * Why not a JSON library: building a tree of a 99-byte request costs more than
 * deciding it, and a library's numbers are doubles where ours are exact
 * decimals. A fuzz target compares this reader with a library, though. */
#include "wire/json/request.h"

#include <stdio.h>

#include "base/check.h"

struct reader {
    struct sl_json_scan *scan;
    struct sl_members members;
};

static bool read_member(struct reader *reader)
{
    struct sluice_text name, value = { 0 };
    if (!sl_json_string(reader->scan, &name))
        return false;
    if (!sl_json_take(reader->scan, ':')) {
        reader->scan->error = "expected `:` behind a member's name";
        return false;
    }
    enum sl_json_kind kind = sl_json_scalar(reader->scan, &value);
    return kind != SL_JSON_BAD && sl_members_put(&reader->members, name, kind, value);
}

/* There is no object where one should be. Tells a value of the wrong type from a text that
 * is no JSON. */
static bool refuse_other(struct reader *reader)
{
    struct sl_json_scan value = *reader->scan;
    struct sluice_text text;
    reader->members.room->unfit = sl_json_scalar(&value, &text) != SL_JSON_BAD;
    reader->scan->error = "expected a JSON object, as in {\"user\": \"u1\"}";
    return false;
}

static bool read_object(struct reader *reader)
{
    struct sl_json_scan *scan = reader->scan;
    if (!sl_json_take(scan, '{'))
        return refuse_other(reader);
    if (sl_json_take(scan, '}'))
        return true;
    do {
        if (!read_member(reader))
            return false;
    } while (sl_json_take(scan, ','));
    if (sl_json_take(scan, '}'))
        return true;
    scan->error = "expected `,` or `}`";
    return false;
}

static bool fail_here(const struct sl_json_scan *scan, struct sl_json_room *room)
{
    SL_CHECK(scan->error && scan->at >= scan->start);
    snprintf(room->error, sizeof room->error, "byte %zu: %s", (size_t)(scan->at - scan->start) + 1,
             scan->error);
    return false;
}

bool sl_json_next_request(struct sl_json_scan *scan, struct sl_json_room *room,
                          struct sluice_request *out)
{
    struct sluice_request request = sluice_request();
    SL_CHECK(scan && room && out);
    struct reader reader = { .scan = scan, .members = sl_members(room, &request) };
    if (!read_object(&reader))
        return scan->error ? fail_here(scan, room) : false;
    SL_CHECK(request.other_count <= SL_JSON_OTHERS_MAX && scan->at <= scan->end);
    *out = request;
    return true;
}

bool sl_json_read_request(char *text, size_t len, struct sl_json_room *room,
                          struct sluice_request *out)
{
    struct sl_json_scan scan = sl_json_scan(text, len);
    struct sluice_request request;
    if (!sl_json_next_request(&scan, room, &request))
        return false;
    sl_json_skip_space(&scan);
    if (scan.at != scan.end) {
        scan.error = "there is something behind the object";
        return fail_here(&scan, room);
    }
    *out = request;
    return true;
}
