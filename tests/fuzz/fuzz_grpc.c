/* Any bytes as what a client says over gRPC.
 *
 *   byte 0         what the rest is: a call of Envoy's, DATA of a stream, frames of HTTP/2
 *   the rest       that
 *
 *   a call is read as protobuf-c reads it, or refused where that refuses it;
 *   no two attributes of a descriptor have one name, and none has a reserved one;
 *   the key of a request that brings a limit has all its entries, which can be read back;
 *   messages are the same however DATA is cut;
 *   frames are survived: memory stays within its bounds, and all of it is given back. */
#include <envoy/service/ratelimit/v3/rls.pb-c.h>
#include <stdlib.h>

#include "base/hash.h"
#include "server/grpc/grpc_call.h"
#include "unit/server/stage.h"
#include "wire/grpc/proto_walk.h"
#include "wire/grpc/rls_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

typedef Envoy__Service__Ratelimit__V3__RateLimitRequest call_message;
typedef Envoy__Extensions__Common__Ratelimit__V3__RateLimitDescriptor descriptor_message;

/* ---- calls ------------------------------------------------------------------------------ */

static void check_same_text(struct sluice_text ours, ProtobufCBinaryData theirs)
{
    SL_CHECK(sl_text_equal(ours, (struct sluice_text){ (const char *)theirs.data, theirs.len }));
}

static void check_same_descriptor(const struct sl_rls_descriptor *ours, const call_message *call,
                                  const descriptor_message *theirs)
{
    uint64_t cost = call->hits_addend;
    SL_CHECK(ours->descriptor.count == theirs->n_entries);
    for (size_t i = 0; i < theirs->n_entries; i++) {
        check_same_text(ours->descriptor.entries[i].name, theirs->entries[i]->key);
        check_same_text(ours->descriptor.entries[i].value, theirs->entries[i]->value);
    }
    SL_CHECK(!theirs->is_negative_hits); /* refused */
    SL_CHECK(ours->has_limit == (theirs->limit != NULL));
    if (theirs->limit) {
        SL_CHECK(ours->limit == theirs->limit->requests_per_unit);
        SL_CHECK(ours->unit_us == sl_unit_us((int32_t)theirs->limit->unit) && ours->unit_us > 0);
    }
    if (theirs->hits_addend)
        cost = theirs->hits_addend->value;
    SL_CHECK(ours->peeks == (theirs->hits_addend && cost == 0));
    SL_CHECK(ours->cost == (cost == 0 ? 1 : cost));
}

static struct sluice_text all_of(const struct sluice_request *request, size_t number)
{
    const struct sluice_text fields[] = {
        SL_TEXT("resource"),   SL_TEXT("method"), SL_TEXT("user"),   SL_TEXT("ip"),
        SL_TEXT("client"),     SL_TEXT("tier"),   SL_TEXT("tenant"), SL_TEXT("cost"),
        SL_TEXT("peek"),       SL_TEXT("wait"),   SL_TEXT("at_us"),  SL_TEXT("explain"),
        SL_TEXT("trust_score")
    };
    enum { FIELDS = sizeof fields / sizeof *fields };
    return number < FIELDS ? fields[number] : request->others[number - FIELDS].name;
}

static void check_names(const struct sluice_request *request)
{
    for (size_t i = 0; i < request->other_count + 13; i++)
        for (size_t n = 0; n < i; n++)
            SL_CHECK(!sl_text_equal(all_of(request, i), all_of(request, n)));
}

/* The next key or value off its text; false: there is none. */
static bool take_part(struct sluice_text *text, struct sl_buffer *out)
{
    sl_buffer_clear(out);
    size_t at = 0;
    for (; at < text->len && text->at[at] != '=' && text->at[at] != ','; at++) {
        char c = text->at[at];
        if (c == '%') {
            SL_CHECK(at + 2 < text->len);
            c = (char)(sl_hex_digit(text->at[at + 1]) << 4 | sl_hex_digit(text->at[at + 2]));
            at += 2;
        }
        sl_buffer_add(out, (struct sluice_text){ &c, 1 });
    }
    bool goes_on = at < text->len;
    text->at += goes_on ? at + 1 : at;
    text->len -= goes_on ? at + 1 : at;
    return goes_on;
}

static void check_key(const struct sl_descriptor *descriptor, struct sluice_text key)
{
    struct sl_buffer part = sl_buffer(1 << 20);
    for (size_t i = 0; i < descriptor->count; i++) {
        SL_CHECK(take_part(&key, &part));
        SL_CHECK(
            sl_text_equal(descriptor->entries[i].name, (struct sluice_text){ part.at, part.len }));
        SL_CHECK(take_part(&key, &part) == (i + 1 < descriptor->count));
        SL_CHECK(
            sl_text_equal(descriptor->entries[i].value, (struct sluice_text){ part.at, part.len }));
    }
    SL_CHECK(key.len == 0);
    sl_buffer_release(&part);
}

static void check_mapping(const struct sl_descriptor *descriptor, struct sl_scratch *memory)
{
    struct sluice_request request = sluice_request(), alone = sluice_request();
    SL_CHECK(sl_descriptor_name(descriptor, memory, &request));
    SL_CHECK(request.other_count <= descriptor->count + 1);
    SL_CHECK(sl_text_equal(request.tenant, descriptor->domain));
    SL_CHECK(sl_text_is(request.others[request.other_count - 1].name, "descriptor"));
    check_names(&request);
    SL_CHECK(sl_descriptor_name_alone(descriptor, "@key", memory, &alone));
    SL_CHECK(alone.other_count >= 1 && alone.other_count <= descriptor->count + 1);
    SL_CHECK(sl_text_is(alone.others[0].name, "@key"));
    check_key(descriptor, alone.others[0].value);
}

/* What protobuf-c reads is refused for other reasons than that it is no protobuf. */
static void read_call(struct sluice_text message)
{
    struct sl_scratch memory = sl_scratch(65536);
    struct sl_rls_request ours;
    const char *wrong = sl_rls_read(message, &memory, &ours);
    call_message *theirs = envoy__service__ratelimit__v3__rate_limit_request__unpack(
        NULL, message.len, (const uint8_t *)message.at);
    SL_CHECK(theirs || wrong);
    if (!wrong) {
        SL_CHECK(ours.count == theirs->n_descriptors && ours.count <= SL_RLS_DESCRIPTORS_MAX);
        check_same_text(ours.domain, theirs->domain);
        for (size_t i = 0; i < ours.count; i++) {
            check_same_descriptor(&ours.descriptors[i], theirs, theirs->descriptors[i]);
            check_mapping(&ours.descriptors[i].descriptor, &memory);
        }
    }
    if (theirs)
        envoy__service__ratelimit__v3__rate_limit_request__free_unpacked(theirs, NULL);
    sl_scratch_release(&memory);
}

/* ---- DATA ------------------------------------------------------------------------------- */

/* How it ended, and a digest of every message. */
static uint64_t read_messages(struct sluice_text bytes, size_t piece)
{
    struct sl_grpc_reader reader = { 0 };
    struct sl_buffer body = sl_buffer(SL_GRPC_MESSAGE_MAX_BYTES);
    enum sl_grpc_end end = SL_GRPC_MORE;
    uint64_t digest = 0;
    while (bytes.len && end <= SL_GRPC_WHOLE) {
        struct sluice_text part = { bytes.at, bytes.len < piece ? bytes.len : piece };
        size_t before = part.len;
        end = sl_grpc_read(&reader, &part, &body);
        SL_CHECK(!body.failed && body.len <= SL_GRPC_MESSAGE_MAX_BYTES);
        bytes.at += before - part.len;
        bytes.len -= before - part.len;
        if (end == SL_GRPC_WHOLE) {
            digest = sl_hash64((struct sluice_text){ body.at ? body.at : "", body.len }, digest);
            sl_buffer_clear(&body);
        }
    }
    digest += (uint64_t)end + sl_grpc_is_within(&reader);
    sl_buffer_release(&body);
    return digest;
}

static void read_data(struct sluice_text bytes)
{
    uint64_t whole = read_messages(bytes, SIZE_MAX);
    static const size_t pieces[] = { 1, 3, 5, 64 };
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        SL_CHECK(read_messages(bytes, pieces[i]) == whole);
    int64_t us;
    if (sl_grpc_parse_timeout(bytes, &us))
        SL_CHECK(us >= 0 && bytes.len <= 9);
    struct sl_proto_field field;
    for (size_t before = bytes.len; sl_proto_next(&bytes, &field); before = bytes.len)
        SL_CHECK(bytes.len < before);
}

/* ---- frames ----------------------------------------------------------------------------- */

static struct stage *stage_of(void)
{
    static struct stage stage;
    static struct sl_store *store;
    if (!store) {
        store = sl_heap_open();
        SL_CHECK(store != NULL);
        stage_open(&stage,
                   "identity: { trusted_proxies: [192.0.2.0/24] }\n"
                   "rules: [{ name: all, per: tenant, limit: 20/m },\n"
                   "        { name: user, per: user, limit: 3/10s }]\n",
                   store);
    }
    return &stage;
}

static struct visitor enter(struct stage *stage)
{
    struct visitor visitor = visitor_enter(stage);
    visitor_forgets_time(&visitor);
    visitor.conn = realloc(visitor.conn, sizeof *visitor.conn + sl_front_grpc.state_bytes);
    SL_CHECK(visitor.conn != NULL);
    memset(visitor.conn->own, 0, sl_front_grpc.state_bytes);
    visitor.conn->front = &sl_front_grpc;
    return visitor;
}

static void turn_worker(struct visitor *visitor)
{
    struct sl_conn *conn = visitor->conn;
    visitor_read(visitor);
    sl_round_finish(&conn->worker->round);
    conn->front->flush(conn);
    visitor_settle(visitor);
    const struct sl_h2 *h2 = *sl_h2_of(conn);
    SL_CHECK(!h2 || h2->held_bytes <= SL_H2_HELD_MAX_BYTES);
    SL_CHECK(!h2 || !h2->lists[SL_H2_READY].first);
}

static void say_frames(struct sluice_text bytes, size_t piece)
{
    struct stage *stage = stage_of();
    struct visitor visitor = enter(stage);
    while (bytes.len && !visitor.conn->is_finished) {
        struct sluice_text part = { bytes.at, bytes.len < piece ? bytes.len : piece };
        size_t count = visitor_put(&visitor, part);
        bytes.at += count;
        bytes.len -= count;
        turn_worker(&visitor);
    }
    if (!visitor.conn->is_finished)
        visitor.conn->front->drain(visitor.conn);
    turn_worker(&visitor);
    visitor_forgets_time(&visitor);
    visitor.conn->front->close(visitor.conn);
    struct sl_worker *worker = visitor.conn->worker;
    visitor_leave(&visitor);
    SL_CHECK(worker->large_bytes == 0 && worker->stream_bytes == 0);
    SL_CHECK(worker->blocks.free_count <= 8);
    SL_CHECK(worker->round.call_count == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len == 0)
        return 0;
    struct sluice_text rest = { (const char *)bytes + 1, len - 1 };
    switch (bytes[0] % 4) {
    case 0:
        read_call(rest);
        break;
    case 1:
        read_data(rest);
        break;
    case 2:
        say_frames(rest, SIZE_MAX);
        break;
    default:
        say_frames(rest, 7);
    }
    return 0;
}
