/* Decodes a chunked body with a state per place in the grammar:
 *
 *   1a ; name=value CR LF   SIZE -> EXTENSION -> SIZE_LF
 *   26 bytes        CR LF   DATA -> DATA_CR -> DATA_LF, and again from SIZE
 *   0               CR LF   SIZE -> SIZE_LF
 *   Name: value     CR LF   TRAILER -> TRAILER_VALUE -> TRAILER_LF, any number of these
 *                   CR LF   TRAILER -> LAST_LF -> DONE
 *
 * Why byte by byte, where the head is read in one piece? A body is decoded in the
 * memory that it arrives in, so the decoder cannot wait until a line is whole. The
 * data, which is most of a body, moves in one piece.
 *
 * A wrong byte is not consumed and changes no state: a second call fails again. */
#include "wire/http/chunked.h"

#include "base/check.h"
#include "wire/http/bytes.h"

enum { SIZE_MAX_DIGITS = 16 }; /* that 64 bits can hold */

enum chunked_state {
    SIZE, /* zero: before the first chunk */
    EXTENSION,
    SIZE_LF,
    DATA,
    DATA_CR,
    DATA_LF,
    TRAILER,
    TRAILER_VALUE,
    TRAILER_LF,
    LAST_LF,
    DONE,
};

static bool refuse(struct sl_http_wrong *wrong, uint32_t status, const char *detail)
{
    *wrong = (struct sl_http_wrong){ status, detail };
    return false;
}

static bool enter_state(struct sl_chunked *chunked, enum chunked_state state)
{
    chunked->state = state;
    return true;
}

/* Counts one more byte of the current line. */
static bool count_line_byte(struct sl_chunked *chunked)
{
    chunked->line_len++;
    return true;
}

/* ---- a chunk's size ------------------------------------------------------------- */

static bool read_digit(struct sl_chunked *chunked, int digit, size_t room_bytes,
                       struct sl_http_wrong *wrong)
{
    /* Refused at the first digit too many: a size only grows. */
    if (chunked->line_len == SIZE_MAX_DIGITS ||
        chunked->left * 16 + (uint64_t)digit > (uint64_t)room_bytes)
        return refuse(wrong, 413, "The body is too large; send less at once.");
    chunked->left = chunked->left * 16 + (uint64_t)digit;
    return count_line_byte(chunked);
}

static bool read_size(struct sl_chunked *chunked, char c, size_t room_bytes,
                      struct sl_http_wrong *wrong)
{
    int digit = sl_hex_digit(c);
    SL_CHECK(chunked->line_len <= SIZE_MAX_DIGITS);
    if (digit >= 0)
        return read_digit(chunked, digit, room_bytes, wrong);
    if (chunked->line_len == 0)
        return refuse(wrong, 400, "A chunk begins with its size in hexadecimal digits.");
    if (c == '\r')
        return enter_state(chunked, SIZE_LF);
    if (c != ';')
        return refuse(wrong, 400,
                      "A chunk's size is followed by CR LF, or by `;` and an extension.");
    return count_line_byte(chunked) && enter_state(chunked, EXTENSION);
}

static bool read_extension(struct sl_chunked *chunked, char c, struct sl_http_wrong *wrong)
{
    SL_CHECK(chunked->line_len <= SL_CHUNK_LINE_MAX_BYTES);
    if (c == '\r')
        return enter_state(chunked, SIZE_LF);
    if (!sl_byte_fits(c, SL_BYTE_VALUE) || (unsigned char)c >= 0x80)
        return refuse(wrong, 400, "A chunk's extension holds visible ASCII and blanks only.");
    if (chunked->line_len == SL_CHUNK_LINE_MAX_BYTES)
        return refuse(wrong, 400, "A chunk's size and extension have at most 256 bytes.");
    return count_line_byte(chunked);
}

/* ---- trailers ------------------------------------------------------------------- */

/* Counts a byte of the trailers. Line ends are not counted: the bytes before them bound them. */
static bool count_trailer_byte(struct sl_chunked *chunked, enum chunked_state next,
                               struct sl_http_wrong *wrong)
{
    SL_CHECK(chunked->spent <= SL_CHUNK_TRAILERS_MAX_BYTES);
    if (chunked->spent == SL_CHUNK_TRAILERS_MAX_BYTES)
        return refuse(wrong, 431, "The trailers are too large; they have at most 4096 bytes.");
    chunked->spent++;
    return count_line_byte(chunked) && enter_state(chunked, next);
}

/* Trailers are checked like a head's fields, since an attacker may hide a head in
 * them; then they are dropped, since nothing uses them. */
static bool read_trailer(struct sl_chunked *chunked, char c, struct sl_http_wrong *wrong)
{
    if (c == '\r' && chunked->line_len == 0)
        return enter_state(chunked, LAST_LF);
    if (c == ':' && chunked->line_len > 0)
        return count_trailer_byte(chunked, TRAILER_VALUE, wrong);
    if (!sl_byte_fits(c, SL_BYTE_TOKEN))
        return refuse(wrong, 400, "Behind the last chunk come trailers, `Name: value`, or CR LF.");
    return count_trailer_byte(chunked, TRAILER, wrong);
}

static bool read_trailer_value(struct sl_chunked *chunked, char c, struct sl_http_wrong *wrong)
{
    if (c == '\r')
        return enter_state(chunked, TRAILER_LF);
    if (!sl_byte_fits(c, SL_BYTE_VALUE))
        return refuse(wrong, 400, "A trailer's value holds no control characters; leave them out.");
    return count_trailer_byte(chunked, TRAILER_VALUE, wrong);
}

/* ---- the decoder ---------------------------------------------------------------- */

/* Reads the LF of a line's end, then goes to the next state. */
static bool read_lf(struct sl_chunked *chunked, char c, enum chunked_state next,
                    struct sl_http_wrong *wrong)
{
    if (c != '\n')
        return refuse(wrong, 400, "A line among chunks ends with CR LF; this one has a bare CR.");
    chunked->line_len = 0;
    return enter_state(chunked, next);
}

static bool read_byte(struct sl_chunked *chunked, char c, size_t room_bytes,
                      struct sl_http_wrong *wrong)
{
    switch ((enum chunked_state)chunked->state) {
    case SIZE:
        return read_size(chunked, c, room_bytes, wrong);
    case EXTENSION:
        return read_extension(chunked, c, wrong);
    case SIZE_LF:
        return read_lf(chunked, c, chunked->left ? DATA : TRAILER, wrong);
    case DATA_CR:
        return c == '\r' ? enter_state(chunked, DATA_LF)
                         : refuse(wrong, 400, "A chunk's data has its size and ends with CR LF.");
    case DATA_LF:
        return read_lf(chunked, c, SIZE, wrong);
    case TRAILER:
        return read_trailer(chunked, c, wrong);
    case TRAILER_VALUE:
        return read_trailer_value(chunked, c, wrong);
    case TRAILER_LF:
        return read_lf(chunked, c, TRAILER, wrong);
    case LAST_LF:
        return read_lf(chunked, c, DONE, wrong);
    case DATA:
    case DONE:
        break;
    }
    SL_CHECK(false); /* data moves in one piece, and nothing is read behind the end */
    return false;
}

/* Moves all the data that has arrived; returns how much that was. */
static size_t move_data(struct sl_chunked *chunked, char *body, const char *at, size_t len)
{
    size_t count = chunked->left < len ? (size_t)chunked->left : len;
    memmove(body + chunked->decoded_len, at, count);
    chunked->decoded_len += count;
    SL_CHECK(body + chunked->decoded_len <= at + count);
    chunked->left -= count;
    if (chunked->left == 0)
        enter_state(chunked, DATA_CR);
    return count;
}

enum sl_chunked_end sl_chunked_read(struct sl_chunked *chunked, char *body, char **at,
                                    const char *end, size_t most_bytes, struct sl_http_wrong *wrong)
{
    SL_CHECK(body + chunked->decoded_len <= *at && *at <= end);
    SL_CHECK(chunked->decoded_len <= most_bytes && chunked->state <= DONE);
    while (chunked->state != DONE && *at < end) {
        if (chunked->state == DATA)
            *at += move_data(chunked, body, *at, (size_t)(end - *at));
        else if (read_byte(chunked, **at, most_bytes - chunked->decoded_len, wrong))
            ++*at;
        else
            return SL_CHUNKED_WRONG;
    }
    SL_CHECK(*at <= end && chunked->decoded_len <= most_bytes);
    return chunked->state == DONE ? SL_CHUNKED_DONE : SL_CHUNKED_MORE;
}
