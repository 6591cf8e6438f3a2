"""The notebook of examples/ runs from a fresh kernel, and its cells show what its text says."""

import pathlib
import unittest

try:
    import nbformat
    from nbclient import NotebookClient
except ImportError:
    NotebookClient = None

NOTEBOOK = pathlib.Path(__file__).parents[2] / "examples" / "notebook" / "see_through.ipynb"


@unittest.skipUnless(NotebookClient, "no nbclient here; tools/setup.sh test fetches it")
class Notebook(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.book = nbformat.read(NOTEBOOK, as_version=4)
        nbformat.validate(cls.book)
        NotebookClient(cls.book, timeout=120, kernel_name="python3").execute()

    def value_of(self, text):
        """The value of the cell that contains the text."""
        cell = next(c for c in self.book.cells if c.cell_type == "code" and text in c.source)
        return next(o.data for o in cell.outputs if o.output_type == "execute_result")

    def test_it_is_kept_without_outputs(self):
        kept = nbformat.read(NOTEBOOK, as_version=4)
        self.assertTrue(all(not c.outputs for c in kept.cells if c.cell_type == "code"))

    def test_reports_are_pages(self):
        faulty, cured = (c.outputs[-1].data["text/html"] for c in self.book.cells
                         if "%%tilescope check" in c.source)
        self.assertTrue(faulty.startswith("<iframe") and cured.startswith("<iframe"))
        self.assertIn("no barrier orders them", faulty)
        self.assertNotIn("no barrier orders them", cured)
        self.assertIn("transpose", self.value_of("%%tilescope explain")["text/html"])

    def test_counts(self):
        self.assertEqual(self.value_of("global_load_sectors")["text/plain"], "(1024, 128)")

    def test_findings(self):
        shown = self.value_of("result.findings")["text/plain"]
        self.assertIn("out-of-bounds at kernel.cu:4: x[100] misses x", shown)


if __name__ == "__main__":
    unittest.main()
