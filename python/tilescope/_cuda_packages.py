"""The folders in which NVIDIA's packages put NVRTC, CUDA's headers and nvcc."""

import importlib.machinery

from . import _tilescope


def find_cuda_packages() -> None:
    """Tells the library the folders of the name space `nvidia`, without importing it."""
    spec = importlib.machinery.PathFinder.find_spec("nvidia")
    folders = spec.submodule_search_locations if spec else None
    _tilescope.set_cuda_package_folders(list(folders or ()))
