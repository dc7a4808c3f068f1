/* What sl_tls_new says about its files. */
#include "base/tls/tls_files.h"

#include <openssl/err.h>
#include <sys/stat.h>

#include "base/tls/tls.h"
#include "unit/server/certificates.h"

/* server.pem and server.key of one pair; other.key of another. */
static int make_files(void **state)
{
    if (open_folder(state) != 0)
        return -1;
    struct paper server = paper_of("localhost", (struct wish){ 0 });
    struct paper other = paper_of("other", (struct wish){ 0 });
    save_certificate("server.pem", "w", server.certificate);
    save_key("server.key", "w", server.key, NULL);
    save_key("other.key", "w", other.key, NULL);
    save_key("locked.key", "w", server.key, "secret");
    save_text("empty", "");
    save_text("words", "this is no certificate\n");
    save_text("damaged.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    paper_free(&server);
    paper_free(&other);
    return 0;
}

#define WITH_FILES(name) TEST_WITH(name, make_files, close_folder)

/* Is it refused, naming the file, with these words? */
static void refused(const char *const files[3], const char *guilty, const char *words)
{
    char certificate[128], key[128], client_ca[128], quoted[140];
    struct sluice_error error = { "as it was" };
    snprintf(certificate, sizeof certificate, "%s/%s", folder, files[0]);
    snprintf(key, sizeof key, "%s/%s", folder, files[1]);
    snprintf(client_ca, sizeof client_ca, "%s/%s", folder, files[2] ? files[2] : "");
    snprintf(quoted, sizeof quoted, "`%s/%s`", folder, guilty);
    assert_null(sl_tls_new(certificate, key, files[2] ? client_ca : NULL, &error));
    if (!strstr(error.text, quoted) || !strstr(error.text, words)) {
        print_error("\"%s\" lacks \"%s\" or \"%s\"\n", error.text, quoted, words);
        fail();
    }
    assert_int_equal(ERR_peek_error(), 0); /* no error is left for the next caller */
}

#define REFUSED(certificate, key, client_ca, guilty, words)                                        \
    refused((const char *const[3]){ certificate, key, client_ca }, guilty, words)

/* The note of a pair of files that is taken. */
static struct sluice_error taken(const char *certificate, const char *key, const char *client_ca)
{
    struct sluice_error error = { "as it was" };
    struct sl_tls *tls = sl_tls_new(in_folder(certificate), in_folder(key),
                                    client_ca ? in_folder(client_ca) : NULL, &error);
    if (!tls)
        print_error("%s\n", error.text);
    assert_non_null(tls);
    sl_tls_drop(tls);
    assert_int_equal(ERR_peek_error(), 0);
    return error;
}

WITH_FILES(good_files_are_taken_without_a_word)
{
    assert_string_equal(taken("server.pem", "server.key", NULL).text, "");
    assert_string_equal(taken("server.pem", "server.key", "server.pem").text, "");
}

WITH_FILES(a_missing_file_is_named)
{
    REFUSED("gone", "server.key", NULL, "gone",
            "cannot be read: No such file or directory; name a PEM file that is there");
    REFUSED("server.pem", "gone", NULL, "gone", "tls.key: ");
    REFUSED("server.pem", "server.key", "gone", "gone", "tls.client_ca: ");
    REFUSED("server.pem", "server.pem/below", NULL, "server.pem/below", "name a PEM file that is");
}

WITH_FILES(an_unreadable_file_is_named)
{
    REFUSED("", "server.key", NULL, "", "cannot be read: Is a directory");
    assert_int_equal(chmod(in_folder("server.key"), 0), 0);
    bool is_root = geteuid() == 0; /* root may read every file */
    if (is_root && seteuid(65534) != 0)
        skip();
    REFUSED("server.pem", "server.key", NULL, is_root ? "server.pem" : "server.key",
            "Permission denied; let the user that the server runs as read it");
    assert_true(!is_root || seteuid(0) == 0);
}

WITH_FILES(a_file_that_is_no_pem_is_named)
{
    REFUSED("words", "server.key", NULL, "words", "tls.certificate: ");
    REFUSED("words", "server.key", NULL, "words", "no certificate in PEM");
    REFUSED("empty", "server.key", NULL, "empty", "no certificate in PEM");
    REFUSED("server.key", "server.key", NULL, "server.key", "no certificate in PEM");
    REFUSED("server.pem", "words", NULL, "words", "no private key in PEM");
    REFUSED("server.pem", "server.pem", NULL, "server.pem", "no private key in PEM");
    REFUSED("server.pem", "server.key", "empty", "empty", "tls.client_ca: ");
    REFUSED("server.pem", "server.key", "empty", "empty", "no certificate in PEM");
}

WITH_FILES(a_damaged_certificate_is_counted)
{
    REFUSED("damaged.pem", "server.key", NULL, "damaged.pem", "certificate 1 in ");
    struct paper more = paper_of("more", (struct wish){ 0 });
    save_certificate("chain.pem", "w", more.certificate);
    save_certificate("chain.pem", "a", more.certificate);
    FILE *file = fopen(in_folder("chain.pem"), "a");
    fputs("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", file);
    fclose(file);
    REFUSED("chain.pem", "server.key", NULL, "chain.pem", "certificate 3 in ");
    REFUSED("server.pem", "server.key", "chain.pem", "chain.pem", "tls.client_ca: certificate 3");
    paper_free(&more);
}

WITH_FILES(a_cut_certificate_is_damaged_or_none)
{
    char pem[4096];
    FILE *file = fopen(in_folder("server.pem"), "r");
    size_t len = fread(pem, 1, sizeof pem, file);
    fclose(file);
    pem[len / 2] = '\0';
    save_text("half.pem", pem);
    REFUSED("half.pem", "server.key", NULL, "half.pem", "tls.certificate: certificate 1 in ");
}

WITH_FILES(a_key_of_another_certificate_is_named)
{
    REFUSED("server.pem", "other.key", NULL, "other.key", "is not the key of the first cert");
    REFUSED("server.pem", "other.key", NULL, "server.pem", "own certificate before its chain");
    struct paper rsa = paper_of("rsa", (struct wish){ .rsa_bits = 2048 });
    save_key("rsa.key", "w", rsa.key, NULL);
    REFUSED("server.pem", "rsa.key", NULL, "rsa.key", "is not the key of the first cert");
    paper_free(&rsa);
}

WITH_FILES(a_locked_key_is_refused_without_asking_for_a_passphrase)
{
    REFUSED("server.pem", "locked.key", NULL, "locked.key", "locked with a passphrase");
}

WITH_FILES(a_weak_key_is_refused_with_its_reason)
{
    struct paper weak = paper_of("weak", (struct wish){ .rsa_bits = 512 });
    save_certificate("weak.pem", "w", weak.certificate);
    save_key("weak.key", "w", weak.key, NULL);
    REFUSED("weak.pem", "weak.key", NULL, "weak.pem", "ee key too small");
    paper_free(&weak);
}

WITH_FILES(certificate_chain_and_key_may_be_one_file)
{
    struct paper ca = paper_of("ca", (struct wish){ .ca = true });
    struct paper own = paper_of("localhost", (struct wish){ .issuer = &ca });
    save_key("all.pem", "w", own.key, NULL);
    save_certificate("all.pem", "a", own.certificate);
    save_certificate("all.pem", "a", ca.certificate);
    assert_string_equal(taken("all.pem", "all.pem", NULL).text, "");
    save_certificate("wrong_way.pem", "w", ca.certificate);
    save_certificate("wrong_way.pem", "a", own.certificate);
    REFUSED("wrong_way.pem", "all.pem", NULL, "all.pem", "own certificate before its chain");
    paper_free(&own);
    paper_free(&ca);
}

WITH_FILES(a_certificate_out_of_its_dates_is_taken_with_a_note)
{
    struct paper old = paper_of("old", (struct wish){ .from_s = -9 * DAY_S, .until_s = -1 });
    struct paper young = paper_of("young", (struct wish){ .from_s = DAY_S });
    save_certificate("old.pem", "w", old.certificate);
    save_key("old.key", "w", old.key, NULL);
    save_certificate("young.pem", "w", young.certificate);
    save_key("young.key", "w", young.key, NULL);
    assert_non_null(strstr(taken("old.pem", "old.key", NULL).text, "` expired on 2"));
    assert_non_null(strstr(taken("young.pem", "young.key", NULL).text, "` is not valid before 2"));
    struct sluice_error note = taken("server.pem", "server.key", "old.pem");
    assert_non_null(strstr(note.text, "tls.client_ca: "));
    assert_non_null(strstr(note.text, "/old.pem` expired on "));
    REFUSED("old.pem", "other.key", NULL, "other.key", "is not the key of"); /* no note then */
    paper_free(&old);
    paper_free(&young);
}

WITH_FILES(a_file_without_end_is_not_read_for_ever)
{
    struct sluice_error error;
    assert_null(sl_tls_new("/dev/zero", in_folder("server.key"), NULL, &error));
    assert_non_null(strstr(error.text, "`/dev/zero` cannot be read: File too large"));
}
