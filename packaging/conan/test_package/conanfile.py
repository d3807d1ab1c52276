"""Builds packaging/consumer with the package, and runs it."""

import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout


class TestPackage(ConanFile):
    settings = "os", "arch", "compiler", "build_type"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        options = self.dependencies["workqueue-cpp"].options
        parts = [part for part in ("inspect", "postgres", "prometheus", "sqlite")
                 if options.get_safe(part)]
        parts += ["shared"] if options.shared_queue else []
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["COMPONENTS"] = ";".join(parts)
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure(build_script_folder="../../consumer")
        cmake.build()

    def test(self):
        if can_run(self):
            self.run(os.path.join(self.cpp.build.bindir, "consumer"), env="conanrun")
