"""One Pybind11Extension, nothing else: all metadata is in pyproject.toml."""

import gzip
import os
import shutil
import sys
import tarfile
from pathlib import Path

from pybind11.setup_helpers import ParallelCompile, Pybind11Extension
from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist
from setuptools.errors import BaseError, CCompilerError, ExecError, PlatformError

NO_CORE = """
gstar_fast: the compiled core could not be built ({reason}).
gstar_fast: the install goes on without it and will run on the Numba backend,
gstar_fast: which gives the same answers more slowly. With a C++17 compiler,
gstar_fast: reinstall to get the native backend.
"""


class optional_build_ext(build_ext):  # noqa: N801 - setuptools names its commands so
    """Build the core if the machine can; install without it, and say so, if not."""

    def build_extensions(self):
        # MSVC has no vector types, so its core would count one row at a time. clang-cl takes the same options.
        if self.compiler.compiler_type == "msvc" and (clang := shutil.which("clang-cl")):
            self.compiler.initialize()
            self.compiler.cc = clang
            for ext in self.extensions:
                ext.extra_compile_args += ["/clang:-ffp-contract=off", "-Wno-unused-command-line-argument"]
        super().build_extensions()

    def build_extension(self, ext):
        try:
            super().build_extension(ext)
        except (BaseError, CCompilerError, ExecError, PlatformError, OSError) as error:
            if os.environ.get("GSTAR_FAST_REQUIRE_CORE") == "1":
                raise
            if not self.inplace:
                Path(self.get_ext_fullpath(ext.name)).unlink(missing_ok=True)  # of an earlier build, from other sources
            ext.optional = True  # also tells setuptools not to look for the file it would copy
            print(NO_CORE.format(reason=str(error).splitlines()[0]), file=sys.stderr)


class wheel_of_what_was_built(bdist_wheel):  # noqa: N801
    """A wheel without the core has nothing of one platform in it, so it is tagged `py3-none-any`."""

    def run(self):
        self.run_command("build_ext")
        built = self.get_finalized_command("build_ext")
        if not any(Path(built.get_ext_fullpath(ext.name)).exists() for ext in self.distribution.ext_modules):
            self.distribution.ext_modules = None
            self.root_is_pure = True
        super().run()


class build_py_with_headers(build_py):  # noqa: N801
    """Ship the C++ headers, the source of the C interface, the CMake package and the version in the Python package."""

    SHIPPED = (("csrc/gstar", "include/gstar"), ("csrc/capi", "include/capi"), ("cmake", "cmake"))

    def run(self):
        super().run()
        if self.editable_mode:
            return  # get_include() finds them in the checkout
        for source, target in self.SHIPPED:
            shutil.copytree(source, Path(self.build_lib, "gstar_fast", target), dirs_exist_ok=True)
        version = f'"""The version."""\n\n__version__ = "{self.distribution.get_version()}"\n'
        Path(self.build_lib, "gstar_fast", "_version.py").write_text(version, encoding="utf-8")


class sdist_of_one_date(sdist):  # noqa: N801
    """With SOURCE_DATE_EPOCH the same files always give the same archive; setuptools does that for wheels only."""

    def make_archive(self, base_name, form, root_dir=None, base_dir=None, owner=None, group=None):
        epoch = os.environ.get("SOURCE_DATE_EPOCH")
        if epoch is None or form != "gztar":
            return super().make_archive(base_name, form, root_dir, base_dir, owner, group)

        def plain(member):
            member.mtime, member.uid, member.gid, member.uname, member.gname = int(epoch), 0, 0, "", ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            return member

        name = f"{base_name}.tar.gz"
        with gzip.GzipFile(name, "wb", mtime=int(epoch)) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
            for path in sorted(Path(base_dir).rglob("*")):
                archive.add(path, recursive=False, filter=plain)
        return name


def core():
    # Never -march=native or -ffast-math: fast kernels are chosen at run time, and a sum must be the same everywhere.
    # Without -g, which Python may add: it would write folders of this machine into the file.
    compile_args = ["-O3", "-ffp-contract=off", "-fvisibility=hidden", "-g0"]
    link_args = []
    if sys.platform == "win32":
        compile_args = ["/O2", "/fp:precise"]
    if os.environ.get("GSTAR_FAST_SANITIZE") == "1":
        sanitize = ["-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all"]
        compile_args += ["-O1", "-g1", "-UNDEBUG", "-fno-omit-frame-pointer", "-Wno-maybe-uninitialized", *sanitize]
        link_args = sanitize
    return Pybind11Extension(
        "gstar_fast._core",
        sorted(str(path) for path in Path("csrc/bindings").glob("*.cpp")),
        depends=sorted(str(path) for path in Path("csrc").rglob("*.hpp")),
        include_dirs=["csrc"],
        cxx_std=17,
        extra_compile_args=compile_args,
        extra_link_args=link_args,
        optional=os.environ.get("GSTAR_FAST_REQUIRE_CORE") != "1",
    )


ParallelCompile("GSTAR_FAST_BUILD_JOBS", default=0).install()
setup(
    ext_modules=[core()],
    cmdclass={
        "bdist_wheel": wheel_of_what_was_built,
        "build_ext": optional_build_ext,
        "build_py": build_py_with_headers,
        "sdist": sdist_of_one_date,
    },
)
