"""foliot's libraries as a package of Conan 2, from this checkout: conan create packaging/conan --build=missing"""
import re
from pathlib import Path

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy

# The libraries, with those that each is linked with, in the order of the layers.
LAYERS = {"core": [], "schedule": [], "queue": ["core"], "adapters": ["queue"], "service": ["core"], "runtime": ["queue"],
          "jobs": ["runtime"], "client": ["jobs"], "jobs_embedded": ["jobs"], "jobs_postgresql": ["jobs"], "tls": ["runtime"]}
HEADERS_ALONE = {"queue", "adapters"}
OPTIONAL = {"jobs_embedded": ("with_rocksdb", "rocksdb::rocksdb"), "jobs_postgresql": ("with_postgresql", "libpq::libpq"),
            "tls": ("with_tls", "openssl::openssl")}


class Foliot(ConanFile):
    name = "foliot"
    description = "Timers for C++ servers: for threads, coroutines and event loops, and jobs with due times"
    license = "Apache-2.0"
    topics = ("timers", "coroutines", "scheduler", "jobs")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "with_rocksdb": [True, False], "with_postgresql": [True, False], "with_tls": [True, False]}
    default_options = {"shared": False, "with_rocksdb": False, "with_postgresql": False, "with_tls": False}

    @property
    def _checkout(self) -> Path:
        return Path(self.recipe_folder).resolve().parents[1]

    def set_version(self):
        text = (self._checkout / "include/foliot/version.hpp").read_text()
        self.version = re.search(r'^#define FOLIOT_VERSION "(.*)"$', text, re.M)[1]

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "cmake/*", "docs/*", "examples/*",
                        "include/*", "src/*", "tools/tidy_coroutines.py"):
            copy(self, pattern, self._checkout, self.export_sources_folder)

    def requirements(self):
        if self.options.with_rocksdb:
            self.requires("rocksdb/[>=7.8 <10]")
        if self.options.with_postgresql:
            self.requires("libpq/[>=14 <17]")
        if self.options.with_tls:
            self.requires("openssl/[>=3.0 <4]")

    def validate(self):
        check_min_cppstd(self, 23)
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration(f"foliot is for Linux, not for {self.settings.os}")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        values = {"BUILD_PROGRAMS": False, "BUILD_TESTS": False, "INSTALL": True, "ROCKSDB": self.options.with_rocksdb,
                  "POSTGRESQL": self.options.with_postgresql, "TLS": self.options.with_tls}
        for name, value in values.items():
            toolchain.cache_variables[f"FOLIOT_{name}"] = bool(value)
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, Path(self.package_folder) / "licenses")

    def package_info(self):
        # foliot's own files for CMake have foliot_check_coroutines(), and are those of every other way to install it.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.set_property("pkg_config_name", "none")
        for layer, needed in LAYERS.items():
            option, outside = OPTIONAL.get(layer, (None, None))
            if option and not self.options.get_safe(option):
                continue
            component = self.cpp_info.components[layer]
            component.libs = [] if layer in HEADERS_ALONE else [f"foliot_{layer}"]
            component.requires = needed + ([outside] if outside else [])
            component.system_libs = ["pthread"] if layer == "core" else []
            component.builddirs = ["lib/cmake/foliot"] if layer == "core" else []
            component.set_property("cmake_target_name", f"foliot::{layer}")
            component.set_property("pkg_config_name", f"foliot_{layer}")
