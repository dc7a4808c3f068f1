/* Published examples: RFC 7515, A.1 to A.3, and RFC 8037, A.4, with the keys given
 * there. No RFC has one for PS256: that token, and one of claims for EdDSA, were made
 * by another implementation (PyJWT) with the private halves of the same keys. */
#ifndef TEST_TOKEN_EXAMPLES_H
#define TEST_TOKEN_EXAMPLES_H

/* All but RFC_EDDSA, whose content is no JSON, claim the same and end then. */
#define EXAMPLES_EXP_S INT64_C(1300819380)

#define RFC_HS256                                                                                  \
    "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4M"               \
    "TkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27"               \
    "uhbUJU1p1r_wW1gFWFOEjXk"

#define RFC_RS256                                                                                  \
    "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6L"               \
    "y9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9"               \
    "g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcA"               \
    "cQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0Gar"               \
    "ZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9"               \
    "QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"

#define RFC_ES256                                                                                  \
    "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6L"               \
    "y9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4Gawxae"               \
    "pmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"

#define RFC_EDDSA                                                                                  \
    "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG"               \
    "1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"

#define PYJWT_PS256                                                                                \
    "eyJhbGciOiJQUzI1NiJ9.eyJpc3MiOiJqb2UiLCJleHAiOjEzMDA4MTkzODAsImh0dHA6Ly9leGFtc"               \
    "GxlLmNvbS9pc19yb290Ijp0cnVlfQ.TnEXMraWIIih1QyeQQwoOW3o2TJL596k3ikzHe2nb7WSMTrI"               \
    "2d0JWXHl-ne-NVVZbXNdcXnCHBDE7P0PZSaFrbzipgQyK6xkiG362ntnmTI2dmVrm2xTJ64tz9gDD8"               \
    "0U6bLe-lYUZneMIEXiKHKsKKI-a7Pwrtmn3PXcXEKogdt3T2nvcvZCK0hCn8-vTiIDOiPFNTuv0n-h"               \
    "NJQGs0n6T66u8G8Hr_-CN2KQmSNTmgQV_1SFY3C-U8Qc5XtEKs0CD79nKxUlji_dDAkEg4VU0Zg_QD"               \
    "DEoViVhuTGHouQnaLwb88IcnP6Skql6nwCvYRZw1aSrxllzQWbnbbo2U31ag"

#define PYJWT_EDDSA                                                                                \
    "eyJhbGciOiJFZERTQSIsImtpZCI6ImVkIiwidHlwIjoiSldUIn0.eyJpc3MiOiJqb2UiLCJleHAiOj"               \
    "EzMDA4MTkzODAsImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.9s1pmgSXx1Av0BNp4"               \
    "hF493Uq7cuVC9Deo8O0rBfb8u8dJt-a2GBBnbSdK8JYZxVInJ3ogiU3XyoEfJwDlKesCg"

#define RFC_HS256_JWK                                                                              \
    "{\"kty\":\"oct\",\"k\":\"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3"        \
    "Yj0iPS4hcgUuTwjAzZr1Z9CAow\"}"

#define RFC_RSA_JWK                                                                                \
    "{\"kty\":\"RSA\",\"n\":\"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHm"        \
    "fHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r"               \
    "2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2"               \
    "R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco"               \
    "9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ\",\"e\":\"AQAB\"}"

#define RFC_P256_JWK                                                                               \
    "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\",\"y"  \
    "\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"}"

#define RFC_ED25519_JWK                                                                            \
    "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\""   \
    "}"

#define EXAMPLES_JWKS                                                                              \
    "{\"keys\":[" RFC_HS256_JWK "," RFC_RSA_JWK "," RFC_P256_JWK "," RFC_ED25519_JWK "]}"

#endif
