#!/usr/bin/env python3
"""Makes the pictures in this folder: python3 make.py (standard library only).

All are 5 x 3 pixels; sample c of pixel (x, y) is 40 * x + 10 * y + c, unless a comment says more.
"""
import pathlib
import struct
import zlib

here = pathlib.Path(__file__).parent
WIDTH, HEIGHT = 5, 3
GREY, RGB, PALETTE, GREY_ALPHA, RGB_ALPHA = 0, 2, 3, 4, 6


def chunk(kind, data):
    return (struct.pack(">I", len(data)) + kind + data
            + struct.pack(">I", zlib.crc32(kind + data)))


def header(colour, depth=8, interlaced=0, width=WIDTH, height=HEIGHT):
    return chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced))


def save(name, head, rows, between=b""):
    data = b"".join(b"\0" + bytes(row) for row in rows)  # filter 0: as they stand
    (here / f"{name}.png").write_bytes(
        b"\x89PNG\r\n\x1a\n" + head + between + chunk(b"IDAT", zlib.compress(data))
        + chunk(b"IEND", b""))


def sample(x, y, c=0):
    return 40 * x + 10 * y + c


def rows(channels, last=None):
    """Rows of samples; `last` replaces the last channel."""
    return [[last(x, y) if last and c == channels - 1 else sample(x, y, c)
             for x in range(WIDTH) for c in range(channels)] for y in range(HEIGHT)]


def opaque(x, y):
    return 255


def adam7(channels):
    for x0, y0, dx, dy in [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4),
                           (1, 0, 2, 2), (0, 1, 1, 2)]:
        for y in range(y0, HEIGHT, dy):
            row = [sample(x, y, c) for x in range(x0, WIDTH, dx) for c in range(channels)]
            if row:
                yield row


save("grey", header(GREY), rows(1))
save("rgb", header(RGB), rows(3))
save("grey_interlaced", header(GREY, interlaced=1), adam7(1))
save("rgb_interlaced", header(RGB, interlaced=1), adam7(3))
save("rgba_opaque", header(RGB_ALPHA), rows(4, opaque))
save("rgba_transparent", header(RGB_ALPHA), rows(4, lambda x, y: 254 if (x, y) == (3, 1) else 255))
save("grey_alpha_opaque", header(GREY_ALPHA), rows(2, opaque))
save("grey_16", header(GREY, 16), [[0] * (2 * WIDTH)] * HEIGHT)
# Entry i of the palette is (i, 2 i, 3 i); pixel (x, y) has entry x + y.
save("palette", header(PALETTE), [[x + y for x in range(WIDTH)] for y in range(HEIGHT)],
     chunk(b"PLTE", bytes(v for i in range(7) for v in (i, 2 * i, 3 * i))))
# The same with entry 6, of pixel (4, 2), transparent.
save("palette_transparent", header(PALETTE),
     [[x + y for x in range(WIDTH)] for y in range(HEIGHT)],
     chunk(b"PLTE", bytes(v for i in range(7) for v in (i, 2 * i, 3 * i)))
     + chunk(b"tRNS", bytes([255] * 6 + [0])))
# Entry 9 does not exist.
save("palette_overrun", header(PALETTE), [[9] * WIDTH] * HEIGHT,
     chunk(b"PLTE", bytes(v for i in range(7) for v in (i, 2 * i, 3 * i))))
# One bit a pixel: white where x + y is even.
save("one_bit", header(GREY, 1), [[0b10101000], [0b01010000], [0b10101000]])
# Headers that promise what the data cannot hold.
save("huge", header(RGB, width=2**31 - 1, height=2**31 - 1), rows(3))
save("bomb", header(GREY, width=16000, height=16000), rows(1))
save("no_pixels", header(GREY, width=0, height=0), [])
