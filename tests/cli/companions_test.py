"""The companion operations as commands, against NumPy: on the CPU and on the emulated GPU."""

import struct
import zlib

import numpy as np

import companions
import program

DEVICES = ["cpu", "emulated"]
LENGTHS = [0, 1, 31, 33, 1000, 1009]
REAL = [np.float32, np.float64]
UNIT = {np.float32: 2.0**-24, np.float64: 2.0**-53}
PHRASE = "Programming Massively Parallel Processors"


def uniform(shape, dtype, seed=1, order="C"):
    values = np.random.default_rng(seed).uniform(-1, 1, shape)
    return np.asarray(values, dtype=dtype, order=order)


def laplacian(x, steps, center, side):
    x = x.astype(np.float64)
    for _ in range(steps):
        padded = np.pad(x, 1)
        x = center * x + side * (padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2]
                                 + padded[1:-1, 2:])
    return x


def blur(picture, radius):
    """Means over boxes that shrink at the border, rounded down, from a table of sums."""
    height, width = picture.shape[:2]
    sums = np.zeros((height + 1, width + 1) + picture.shape[2:], np.int64)
    sums[1:, 1:] = picture.astype(np.int64).cumsum(0).cumsum(1)
    top = np.maximum(np.arange(height) - radius, 0)
    bottom = np.minimum(np.arange(height) + radius + 1, height)
    left = np.maximum(np.arange(width) - radius, 0)
    right = np.minimum(np.arange(width) + radius + 1, width)
    box = (sums[bottom][:, right] - sums[top][:, right] - sums[bottom][:, left]
           + sums[top][:, left])
    area = np.outer(bottom - top, right - left)
    return (box // (area[:, :, None] if picture.ndim == 3 else area)).astype(np.uint8)


def write_png(path, picture):
    """Grey or RGB, no filters: what the standard library can write."""
    height, width = picture.shape[:2]
    colour = 2 if picture.ndim == 3 else 0
    rows = b"".join(b"\0" + picture[row].tobytes() for row in range(height))

    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data
                + struct.pack(">I", zlib.crc32(kind + data)))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n"
                   + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0))
                   + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Lists(companions.Companions):
    def test_saxpb(self):
        for device in DEVICES:
            for dtype in REAL:
                for length in LENGTHS:
                    x = uniform(length, dtype)
                    self.save("x.npy", x)
                    self.succeed("saxpb", "x.npy", "-a", "2.5", "-b", "-0.25", "-o", "y.npy",
                                 "--device", device)
                    exact = 2.5 * x.astype(np.longdouble) - 0.25
                    self.assert_near(self.load("y.npy"), exact, 6 * UNIT[dtype])
                    self.assertEqual(self.load("y.npy").dtype, dtype)

    def test_any_shape_and_order_stays(self):
        for order in "CF":
            x = uniform((3, 4, 5), np.float32, order=order)
            self.save("x.npy", x)
            self.succeed("saxpb", "x.npy", "-a", "4", "-o", "y.npy")
            self.assertTrue(np.array_equal(self.load("y.npy"), 4 * x))
            self.succeed("scale", "x.npy", "-f", "0.5", "-o", "y.npy", "--device", "emulated")
            y = self.load("y.npy")
            self.assertTrue(np.array_equal(y, 0.5 * x))
            self.assertEqual(y.flags.f_contiguous, order == "F")

    def test_vector_add(self):
        for device in DEVICES:
            for dtype in REAL:
                for length in LENGTHS:
                    a, b = uniform(length, dtype, 1), uniform(length, dtype, 2)
                    self.save("a.npy", a)
                    self.save("b.npy", b)
                    self.succeed("vector_add", "a.npy", "b.npy", "-o", "c.npy", "--device", device)
                    self.assertTrue(np.array_equal(self.load("c.npy"), a + b))

    def test_reverse(self):
        for device in DEVICES:
            for dtype in (np.uint8, np.int16, np.float32, np.int64):
                for length in LENGTHS:
                    x = np.random.default_rng(3).integers(0, 100, length).astype(dtype)
                    self.save("x.npy", x)
                    self.succeed("reverse", "x.npy", "-o", "y.npy", "--device", device)
                    self.assertTrue(np.array_equal(self.load("y.npy"), x[::-1]))

    def test_the_lecture_s_960_values_in_every_variant(self):
        x = np.arange(960, dtype=np.int32)
        self.save("x.npy", x)
        for variant in ("plain", "shared", "in_place", "vector"):
            self.succeed("reverse", "x.npy", "-o", "y.npy", "--device", "emulated", "--variant",
                         variant)
            self.assertTrue(np.array_equal(self.load("y.npy"), x[::-1]), variant)

    def test_the_lecture_s_saxpb(self):
        out = self.report("saxpb", "--nblocks", "8", "--nvals", "8192", "--niters", "3", "-a", "2",
                          "-b", "1", "--device", "emulated")
        self.assertLess(out["difference"], 1e-6)
        self.assertEqual((out["values"], out["blocks"], out["variant"]), (8192, 8, "many_blocks"))
        self.assertGreater(out["cpu_time_ms"], 0)
        result = self.run_program("saxpb", "--nblocks", "1", "--nvals", "2048", "--device",
                                  "emulated")
        self.assertEqual(result.code, 2)
        self.assertIn("2048 threads", result.err)
        self.assertIn("1024", result.err)
        self.assertEqual(result.err.count("\n"), 1)

    def test_equal_results_that_are_no_numbers(self):
        for device in DEVICES:
            for factor in ("nan", "inf", "1e39"):
                out = self.report("saxpb", "--nvals", "64", "-a", factor, "-b", "1", "--device",
                                  device)
                self.assertEqual(out["difference"], 0)


class Grids(companions.Companions):
    SHAPES = [(1, 1), (1, 97), (97, 1), (62, 76), (0, 5), (5, 0), (31, 33), (127, 131)]

    def test_transpose(self):
        for device in DEVICES:
            for i, shape in enumerate(self.SHAPES):
                dtype = (np.uint8, np.float32, np.int16, np.float64)[i % 4]
                x = np.random.default_rng(4).integers(0, 200, shape).astype(dtype)
                for order in "CF":
                    self.save("x.npy", np.asarray(x, order=order))
                    self.succeed("transpose", "x.npy", "-o", "y.npy", "--device", device)
                    self.assertTrue(np.array_equal(self.load("y.npy"), x.T), (shape, order))

    def test_the_lecture_s_picture_in_blocks_of_16(self):
        picture = uniform((62, 76), np.float32)
        self.save("x.npy", picture)
        for variant in ("picture", "exchanged", "in_flight"):
            report = self.report("scale", "x.npy", "-o", "y.npy", "--device", "emulated",
                                 "--variant", variant)
            self.assertEqual(report["variant"], variant)
            self.assertTrue(np.array_equal(self.load("y.npy"), 2 * picture))

    def test_laplacian(self):
        for device in DEVICES:
            for dtype in REAL:
                for shape in self.SHAPES:
                    for order in "CF":
                        x = uniform(shape, dtype, order=order)
                        self.save("x.npy", x)
                        self.succeed("laplacian", "x.npy", "-o", "y.npy", "--device", device)
                        self.assert_near(self.load("y.npy"), laplacian(x, 1, -4, 1),
                                         2 * 6 * 8 * UNIT[dtype])

    def test_steps_of_diffusion(self):
        x = uniform((62, 76), np.float32)
        self.save("x.npy", x)
        for device in DEVICES:
            for steps in (2, 7, 8, 64):
                report = self.report("laplacian", "x.npy", "-o", "y.npy", "--device", device,
                                     "--iterations", str(steps), "--center", "0.2", "--side", "0.2")
                self.assertEqual(report["iterations"], steps)
                weight = float(np.float32(0.2))
                self.assert_near(self.load("y.npy"), laplacian(x, steps, weight, weight),
                                 6 * steps * UNIT[np.float32])


class Pictures(companions.Companions):
    def test_blur_of_arrays(self):
        random = np.random.default_rng(5)
        for device in DEVICES:
            for number, shape in enumerate([(1, 1), (1, 97), (97, 1), (62, 76), (0, 5), (33, 48, 3),
                                            (5, 7, 1)]):
                picture = random.integers(0, 256, shape).astype(np.uint8)
                self.save("in.npy", picture)
                radii = (0, 1, 5, 64)
                for radius in radii if program.ALL else (radii[number % 4],):
                    self.succeed("blur", "in.npy", "-o", "out.npy", "--radius", str(radius),
                                 "--device", device)
                    self.assertTrue(np.array_equal(self.load("out.npy"), blur(picture, radius)),
                                    (shape, radius, device))

    def test_blur_of_png(self):
        random = np.random.default_rng(6)
        for shape in [(62, 76), (40, 30, 3)]:
            picture = random.integers(0, 256, shape).astype(np.uint8)
            write_png(self.path("in.png"), picture)
            self.succeed("blur", "in.png", "-o", "out.png", "--radius", "5")
            # Read back through our own reader: the bytes as a histogram of one bin a value.
            there = self.report("histogram", "out.png")["counts"]
            wanted = np.bincount(blur(picture, 5).ravel(), minlength=256)
            self.assertEqual(there, wanted.tolist())

    def test_two_kinds_of_file(self):
        self.save("in.npy", np.zeros((3, 3), np.uint8))
        self.assert_fails(2, "'in.npy' and 'out.png' must both be PNG pictures or both .npy arrays",
                          "blur", "in.npy", "-o", "out.png")


class Histograms(companions.Companions):
    def test_bytes_of_any_file(self):
        data = np.random.default_rng(7).integers(0, 256, 5003).astype(np.uint8)
        with open(self.path("file"), "wb") as file:
            file.write(data.tobytes())
        for device in DEVICES:
            counts = self.report("histogram", "file", "--device", device)["counts"]
            self.assertEqual(counts, np.bincount(data, minlength=256).tolist())

    def test_an_empty_file(self):
        open(self.path("file"), "wb").close()
        for device in DEVICES:
            out = self.report("histogram", "file", "--bins", "4", "--device", device)
            self.assertEqual((out["counts"], out["counted"]), ([0] * 4, 0))

    def test_integers(self):
        random = np.random.default_rng(8)
        for number, dtype in enumerate((np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32)):
            limits = np.iinfo(dtype)
            x = random.integers(limits.min, limits.max, 3001, endpoint=True).astype(dtype)
            self.save("x.npy", x)
            all_bins = (1, 7, 256, 1000)
            for bins in all_bins if program.ALL else (all_bins[number % 4],):
                low, width = int(limits.min), int(limits.max) - int(limits.min) + 1
                exact = np.bincount([(int(v) - low) * bins // width for v in x], minlength=bins)
                for device in DEVICES:
                    out = self.report("histogram", "x.npy", "--bins", str(bins), "--device", device)
                    self.assertEqual(out["counts"], exact.tolist(), (dtype, bins, device))

    def test_65536_bins_and_a_range(self):
        x = np.random.default_rng(9).integers(-40000, 70000, 4001).astype(np.int32)
        self.save("x.npy", x)
        inside = x[(x >= -100) & (x < 65436)]
        exact = np.bincount(inside + 100, minlength=65536)
        for device in DEVICES:
            self.succeed("histogram", "x.npy", "--bins", "65536", "--range", "-100,65436", "-o",
                         "counts.npy", "--device", device)
            counts = self.load("counts.npy")
            self.assertEqual(counts.dtype, np.uint64)
            self.assertTrue(np.array_equal(counts, exact))

    def test_floats(self):
        # Away from the borders of bins, NumPy's rounding and Tilescope's agree.
        middles = (np.random.default_rng(10).integers(0, 100, 3001) + 0.5) / 50 - 1
        for dtype in REAL:
            x = np.concatenate([middles, [np.nan, 1.5, -1.5, np.inf, -np.inf, 1.0]]).astype(dtype)
            self.save("x.npy", x)
            exact, _ = np.histogram(x[np.abs(x) <= 1], bins=100, range=(-1, 1))
            for device in DEVICES:
                out = self.report("histogram", "x.npy", "--bins", "100", "--range", "-1,1",
                                  "--device", device)
                self.assertEqual(out["counts"], exact.tolist())

    def test_floats_without_a_range_reach_from_least_to_greatest(self):
        x = np.array([3, 1, 2, 5], np.float32)
        self.save("x.npy", x)
        out = self.report("histogram", "x.npy", "--bins", "4")
        self.assertEqual((out["lower"], out["upper"], out["counts"]), (1, 5, [1, 1, 1, 1]))
        self.save("x.npy", np.array([1, np.nan], np.float32))
        self.assert_fails(4, "'x.npy': its elements reach from nan to nan; give a --range LO,HI",
                          "histogram", "x.npy")

    def test_the_lecture_s_phrase_in_four_letter_bins(self):
        with open(self.path("phrase.txt"), "w") as file:
            file.write(PHRASE)
        exact = [0] * 7
        for letter in PHRASE.lower():
            if letter.isalpha():
                exact[(ord(letter) - ord("a")) // 4] += 1
        self.assertEqual(sum(exact), 38)
        for device in DEVICES:
            variants = ["cpu"] if device == "cpu" else ["sectioned", "interleaved",
                                                        "block_private", "lane_columns"]
            for variant in variants:
                out = self.report("histogram", "phrase.txt", "--text", "--device", device,
                                  "--variant", variant)
                self.assertEqual(out["counts"], exact)
        table = self.succeed("histogram", "phrase.txt", "--text")
        self.assertRegex(table, r"\n +a-d +5 ")
        self.assertRegex(table, r"\n +y-z +1 ")


class Reductions(companions.Companions):
    def test_against_numpy(self):
        random = np.random.default_rng(11)
        for device in DEVICES:
            for length in LENGTHS[1:]:
                for dtype in (np.float32, np.float64, np.int32):
                    x = (random.integers(-1000, 1000, length) / 8).astype(dtype)
                    self.save("x.npy", x)
                    for op in ("sum", "min", "max", "argmax"):
                        out = self.report("reduce", "x.npy", "--op", op, "--device", device)
                        exact = x.astype(np.float64).sum() if op == "sum" else getattr(x, op)()
                        self.assertEqual(out["value"], exact, (op, length, dtype, device))

    def test_sums_that_round(self):
        for device in DEVICES:
            x = uniform(50021, np.float32)
            self.save("x.npy", x)
            value = self.report("reduce", "x.npy", "--device", device)["value"]
            exact = x.astype(np.float64).sum()
            magnitude = np.abs(x).astype(np.float64).sum()
            self.assertLessEqual(abs(value - exact), 64 * 2.0**-24 * magnitude)

    def test_nothing(self):
        self.save("x.npy", np.zeros(0, np.float32))
        for device in DEVICES:
            self.assertEqual(self.report("reduce", "x.npy", "--device", device)["value"], 0)
        self.assert_fails(2, "an empty list has no max", "reduce", "x.npy", "--op", "max")

    def test_sums_of_int32_do_not_wrap(self):
        x = np.full(1000, 2**31 - 1, np.int32)
        self.save("x.npy", x)
        for device in DEVICES:
            value = self.report("reduce", "x.npy", "--device", device)["value"]
            self.assertEqual(value, 1000 * (2**31 - 1))

    def test_nan_and_signed_zeros(self):
        for device in DEVICES:
            for dtype in REAL:
                x = uniform(1009, dtype)
                x[700] = x[900] = np.nan
                self.save("x.npy", x)
                for op in ("sum", "min", "max"):
                    out = self.report("reduce", "x.npy", "--op", op, "--device", device)
                    self.assertEqual((out["value"], out["value_text"]), (None, "nan"))
                out = self.report("reduce", "x.npy", "--op", "argmax", "--device", device)
                self.assertEqual(out["value"], 700)
                self.save("x.npy", np.array([-1, -0.0, 0.0, -0.0], dtype))
                out = self.report("reduce", "x.npy", "--op", "max", "--device", device)
                self.assertEqual(out["value_text"], "0")
                out = self.report("reduce", "x.npy", "--op", "argmax", "--device", device)
                self.assertEqual(out["value"], 1)

    def test_every_run_gives_the_same_bits(self):
        x = uniform(20011, np.float32)
        self.save("x.npy", x)
        values = {self.report("reduce", "x.npy", "--device", device)["value"]
                  for device in DEVICES for _ in range(3)}
        self.assertLessEqual(len(values), len(DEVICES))


if __name__ == "__main__":
    program.main()
