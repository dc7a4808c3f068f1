/* Looking up files in a FileDescriptorSet: see file_set.h. */
#include "server/grpc/file_set.h"

#include <stdio.h>

#include "wire/grpc/proto_walk.h"

/* Numbers of fields, by google/protobuf/descriptor.proto. */
enum { SET_FILE = 1, NAME = 1, FILE_PACKAGE = 2, FILE_SERVICE = 6 };

/* The fields in which a named thing has its parts. */
enum element_kind { NOTHING, A_FILE, A_MESSAGE, AN_ENUM, A_SERVICE, A_METHOD };

static enum element_kind kind_within(enum element_kind outer, uint32_t number)
{
    switch (outer) {
    case A_FILE:
        return number == 4 ? A_MESSAGE : number == 5 ? AN_ENUM : number == 6 ? A_SERVICE : NOTHING;
    case A_MESSAGE:
        return number == 3 ? A_MESSAGE : number == 4 ? AN_ENUM : NOTHING;
    case A_SERVICE:
        return number == 2 ? A_METHOD : NOTHING;
    default:
        return NOTHING;
    }
}

/* The first field with that number; empty: there is none. */
static struct sluice_text text_in(struct sluice_text message, uint32_t number)
{
    struct sl_proto_field field;
    while (sl_proto_next(&message, &field))
        if (field.number == number && field.kind == SL_PROTO_BYTES)
            return field.text;
    return (struct sluice_text){ "", 0 };
}

/* NAME.REST → REST. Returns false if it does not begin with that name. */
static bool cut_name(struct sluice_text *symbol, struct sluice_text name)
{
    if (symbol->len <= name.len || memcmp(symbol->at, name.at, name.len) != 0 ||
        symbol->at[name.len] != '.')
        return false;
    symbol->at += name.len + 1;
    symbol->len -= name.len + 1;
    return true;
}

/* Recursion is as deep as our own files are nested. */
static bool has_symbol(struct sluice_text within, enum element_kind kind, struct sluice_text symbol)
{
    struct sl_proto_field field;
    while (sl_proto_next(&within, &field)) {
        enum element_kind inner = kind_within(kind, field.number);
        if (inner == NOTHING || field.kind != SL_PROTO_BYTES)
            continue;
        struct sluice_text name = text_in(field.text, NAME), rest = symbol;
        if (sl_text_equal(symbol, name) ||
            (cut_name(&rest, name) && has_symbol(field.text, inner, rest)))
            return true;
    }
    return false;
}

static bool next_file(struct sluice_text *set, struct sluice_text *file)
{
    struct sl_proto_field field;
    while (sl_proto_next(set, &field))
        if (field.number == SET_FILE && field.kind == SL_PROTO_BYTES) {
            *file = field.text;
            return true;
        }
    return false;
}

bool sl_file_named(struct sluice_text set, struct sluice_text name, struct sluice_text *out)
{
    struct sluice_text file;
    while (next_file(&set, &file))
        if (sl_text_equal(text_in(file, NAME), name)) {
            *out = file;
            return true;
        }
    return false;
}

bool sl_file_defining(struct sluice_text set, struct sluice_text symbol, struct sluice_text *out)
{
    struct sluice_text file;
    while (next_file(&set, &file)) {
        struct sluice_text rest = symbol;
        if (cut_name(&rest, text_in(file, FILE_PACKAGE)) && has_symbol(file, A_FILE, rest)) {
            *out = file;
            return true;
        }
    }
    return false;
}

bool sl_file_set_service(struct sluice_text set, size_t *place, char *name, size_t room)
{
    struct sluice_text file;
    size_t number = 0;
    while (next_file(&set, &file)) {
        struct sluice_text package = text_in(file, FILE_PACKAGE);
        struct sl_proto_field field;
        while (sl_proto_next(&file, &field)) {
            if (field.number != FILE_SERVICE || field.kind != SL_PROTO_BYTES || number++ != *place)
                continue;
            struct sluice_text own = text_in(field.text, NAME);
            int len = snprintf(name, room, "%.*s.%.*s", (int)package.len, package.at, (int)own.len,
                               own.at);
            ++*place;
            return len > 0 && (size_t)len < room;
        }
    }
    return false;
}
