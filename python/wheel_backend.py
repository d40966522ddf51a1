"""Builds the wheel for pip (PEP 517, 660). It needs nothing but Python, and so pip needs no network for it: a new virtual
environment has no setuptools from Python 3.12 on, and before that none that can build a wheel."""

import base64
import hashlib
import io
import re
import tarfile
import zipfile
from pathlib import Path
from typing import Dict, Optional

HERE = Path(__file__).parent
VERSION = re.findall(r'^__version__ = "(.+)"$', (HERE / "scidex_oci/__init__.py").read_text(encoding="utf-8"), re.MULTILINE)[0]
STEM = f"scidex_oci-{VERSION}"
METADATA = f"""\
Metadata-Version: 2.1
Name: scidex-oci
Version: {VERSION}
Summary: Run unreviewed analyses in rootless containers, from Python
Project-URL: Source, https://github.com/scidex-ai/scidex-oci
License: Apache-2.0
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Typing :: Typed
Requires-Python: >=3.9
Description-Content-Type: text/markdown

"""
WHEEL = "Wheel-Version: 1.0\nGenerator: scidex-oci\nRoot-Is-Purelib: true\nTag: py3-none-any\n"

Options = Optional[Dict[str, object]]


def build_wheel(wheel_directory: str, config_settings: Options = None, metadata_directory: Optional[str] = None) -> str:
    return _write_wheel(Path(wheel_directory), _package())


def build_editable(wheel_directory: str, config_settings: Options = None, metadata_directory: Optional[str] = None) -> str:
    return _write_wheel(Path(wheel_directory), {"scidex_oci.pth": f"{HERE}\n".encode()})


def build_sdist(sdist_directory: str, config_settings: Options = None) -> str:
    files = {name: (HERE / name).read_bytes() for name in ("README.md", "pyproject.toml", "wheel_backend.py")}
    files.update(_package())
    files["PKG-INFO"] = _metadata()
    name = f"{STEM}.tar.gz"
    with tarfile.open(Path(sdist_directory) / name, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for path, data in sorted(files.items()):
            member = tarfile.TarInfo(f"{STEM}/{path}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return name


def _package() -> Dict[str, bytes]:
    files = [path for path in sorted((HERE / "scidex_oci").iterdir()) if path.suffix == ".py" or path.name == "py.typed"]
    return {f"scidex_oci/{path.name}": path.read_bytes() for path in files}


def _metadata() -> bytes:
    return (METADATA + (HERE / "README.md").read_text(encoding="utf-8")).encode()


def _write_wheel(directory: Path, files: Dict[str, bytes]) -> str:
    about = f"{STEM}.dist-info"
    files = {**files, f"{about}/METADATA": _metadata(), f"{about}/WHEEL": WHEEL.encode()}
    record = "".join(f"{path},{_digest(data)},{len(data)}\n" for path, data in sorted(files.items()))
    files[f"{about}/RECORD"] = f"{record}{about}/RECORD,,\n".encode()
    name = f"{STEM}-py3-none-any.whl"
    with zipfile.ZipFile(directory / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            # ZipInfo has a fixed time: the same files give the same bytes.
            member = zipfile.ZipInfo(path)
            member.external_attr = 0o100644 << 16
            archive.writestr(member, data, zipfile.ZIP_DEFLATED)
    return name


def _digest(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
