/* Digests: the examples of FIPS 180-4, and both ways to hash blocks. */
#include "base/sha256.h"

#include <string.h>

#include "base/sha256_blocks.h"
#include "support/test.h"

static void digest(const char *text, size_t size, size_t piece, char found[SHA256_TEXT_SIZE])
{
    struct sha256 hash;
    sha256_init(&hash);
    for (size_t at = 0; at < size; at += piece) {
        sha256_update(&hash, text + at, size - at < piece ? size - at : piece);
    }
    sha256_finish_text(&hash, found);
}

Test(digests, standard_examples)
{
    static const struct {
        const char *text, *digest;
    } examples[] = {
        { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
        { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
    };
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        char found[SHA256_TEXT_SIZE];
        digest(examples[i].text, strlen(examples[i].text), 7, found);
        expect(strcmp(found, examples[i].digest) == 0);
    }
}

Test(digests, million_letters)
{
    char text[1000];
    char found[SHA256_TEXT_SIZE];
    struct sha256 hash;
    memset(text, 'a', sizeof text);
    sha256_init(&hash);
    for (int i = 0; i < 1000; i++) {
        sha256_update(&hash, text, sizeof text);
    }
    sha256_finish_text(&hash, found);
    expect(strcmp(found, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0") == 0);
}

/* The digest does not depend on the pieces in which the bytes come. */
Test(digests, any_pieces)
{
    char text[300];
    char whole[SHA256_TEXT_SIZE];
    for (size_t i = 0; i < sizeof text; i++) {
        text[i] = (char)(i * i + 7 * i);
    }
    for (size_t size = 0; size <= sizeof text; size += 13) {
        digest(text, size, sizeof text, whole);
        for (size_t piece = 1; piece < 150; piece += 9) {
            char found[SHA256_TEXT_SIZE];
            digest(text, size, piece, found);
            expect(strcmp(found, whole) == 0);
        }
    }
}

/* The processor's instructions, if it has them, and the plain way hash blocks alike. */
Test(digests, both_ways)
{
#if SHA256_HAS_X86
    uint8_t blocks[64 * 5];
    uint32_t seed = 1;
    for (int round = 0; sha256_x86_is_usable() && round < 200; round++) {
        uint32_t plain[8];
        uint32_t fast[8];
        for (size_t i = 0; i < sizeof blocks; i++) {
            seed = seed * 1664525 + 1013904223;
            blocks[i] = (uint8_t)(seed >> 24);
        }
        memcpy(plain, blocks, sizeof plain);
        memcpy(fast, blocks, sizeof fast);
        sha256_blocks_plain(plain, blocks, (size_t)round % 6);
        sha256_blocks_x86(fast, blocks, (size_t)round % 6);
        expect(memcmp(plain, fast, sizeof plain) == 0);
    }
#endif
}
