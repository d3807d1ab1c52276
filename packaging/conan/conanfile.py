"""The recipe for Conan 2. conandata.yml has the archive of each version."""

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, get

required_conan_version = ">=2.0"

# The option of each part, and what it requires.
PARTS = {
    "inspect": ["civetweb/[>=1.15 <2]", "nlohmann_json/[>=3.11.2 <4]"],
    "postgres": ["libpq/[>=14 <19]"],
    "prometheus": ["prometheus-cpp/[>=1.0 <2]"],
    "shared_queue": ["hiredis/[>=0.14.1 <2]"],
    "sqlite": ["sqlite3/[>=3.40 <4]"],
    "tls": ["openssl/[>=3 <4]"],
}


class WorkqueueConan(ConanFile):
    name = "workqueue-cpp"
    description = "Work queues for controllers, with the semantics of Kubernetes' client-go"
    license = "Apache-2.0"
    topics = ("kubernetes", "controller", "workqueue")
    # A shared library with a static Abseil would have a copy of its state.
    package_type = "static-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"fPIC": [True, False], **{part: [True, False] for part in PARTS}}
    default_options = {"fPIC": True, **{part: False for part in PARTS}}
    implements = ["auto_shared_fpic"]

    def layout(self):
        cmake_layout(self, src_folder="src")

    def requirements(self):
        # The exported targets link these.
        for reference in ["abseil/[>=20220623]"] + sum(
                (needs for part, needs in PARTS.items() if self.options.get_safe(part)), []):
            self.requires(reference, transitive_headers=True, transitive_libs=True)

    def validate(self):
        check_min_cppstd(self, 17)
        for part in ("postgres", "sqlite", "tls"):
            if self.options.get_safe(part) and not self.options.shared_queue:
                raise ConanInvalidConfiguration(
                    f"{part} is True, and shared_queue, which it needs, is False")

    def source(self):
        get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["WORKQUEUE_FETCH_DEPENDENCIES"] = False
        for part in PARTS:
            variable = "WORKQUEUE_WITH_" + part.removesuffix("_queue").upper()
            toolchain.cache_variables[variable] = bool(self.options.get_safe(part))
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, self.package_folder + "/licenses")
        CMake(self).install()

    def package_info(self):
        # The package's own files have the components and their messages.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/workqueue"]
        self.cpp_info.libs = ["workqueue_tracing", "workqueue"]
        if self.options.shared_queue:
            self.cpp_info.libs = [
                "workqueue_leader_election", "workqueue_shared_testing", "workqueue_shared",
                "workqueue_redis", *self.cpp_info.libs]
        for part in ("postgres", "sqlite", "prometheus", "inspect"):
            if self.options.get_safe(part):
                self.cpp_info.libs.insert(0, "workqueue_" + part)
        if self.settings.os in ("Linux", "FreeBSD"):
            self.cpp_info.system_libs = ["pthread"]
