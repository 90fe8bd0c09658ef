/* test_base_sha256.c: the published test vectors of FIPS 180-4, NIST's long message and RFC 4231. */
#include <string.h>

#include "base/macros.h"
#include "base/sha256.h"
#include "harness/test.h"

static void expect_hash(const struct sha256 *hash, const char *want) {
    struct sha256 copy = *hash;
    uint8_t digest[SHA256_SIZE];
    char hex[SHA256_HEX_SIZE];
    sha256_end(&copy, digest);
    sha256_hex(digest, hex);
    assert_string_equal(hex, want);
}

TEST(the_hash_of_known_messages_is_the_published_one) {
    static const struct {
        const char *message, *hash;
    } vectors[] = {
        { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
        { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
        { "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqr"
          "lmnopqrsmnopqrstnopqrstu",
          "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
        struct sha256 hash;
        sha256_init(&hash);
        sha256_add(&hash, vectors[i].message, strlen(vectors[i].message));
        expect_hash(&hash, vectors[i].hash);
    }
}

TEST(a_million_letters_hash_as_published) {
    char letters[1000];
    struct sha256 hash;
    memset(letters, 'a', sizeof(letters));
    sha256_init(&hash);
    for (int i = 0; i < 1000; i++)
        sha256_add(&hash, letters, sizeof(letters));
    expect_hash(&hash, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(where_a_message_is_cut_does_not_matter) {
    char text[200];
    memset(text, 'x', sizeof(text));
    for (size_t size = 0; size <= sizeof(text); size++) {
        uint8_t whole[SHA256_SIZE], parts[SHA256_SIZE];
        struct sha256 hash;
        sha256_init(&hash);
        sha256_add(&hash, text, size);
        sha256_end(&hash, whole);
        sha256_init(&hash);
        for (size_t i = 0; i < size; i++)
            sha256_add(&hash, text + i, 1);
        sha256_end(&hash, parts);
        assert_memory_equal(whole, parts, sizeof(whole));
    }
}

static void expect_hmac(const void *key, size_t key_size, const void *data, size_t size,
                        const char *want) {
    struct hmac_sha256 hmac;
    uint8_t digest[SHA256_SIZE];
    char hex[SHA256_HEX_SIZE];
    hmac_sha256_init(&hmac, key, key_size);
    hmac_sha256_add(&hmac, data, size / 2);
    hmac_sha256_add(&hmac, (const char *)data + size / 2, size - size / 2);
    hmac_sha256_end(&hmac, digest);
    sha256_hex(digest, hex);
    assert_string_equal(hex, want);
}

TEST(the_hmacs_of_rfc_4231_are_made) {
    static const char large[] = "Test Using Larger Than Block-Size Key - Hash Key First";
    static const char both[] =
        "This is a test using a larger than block-size key and a larger than block-size data. The "
        "key needs to be hashed before being used by the HMAC algorithm.";
    uint8_t key[131], data[50];
    (void)state;
    memset(key, 0x0b, 20);
    expect_hmac(key, 20, "Hi There", 8,
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    expect_hmac("Jefe", 4, "what do ya want for nothing?", 28,
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof(key));
    memset(data, 0xdd, sizeof(data));
    expect_hmac(key, 20, data, sizeof(data),
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    expect_hmac(key, sizeof(key), large, strlen(large),
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    expect_hmac(key, sizeof(key), both, strlen(both),
                "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}
