# The archive of the release, which packaging/archive makes. Its checksum is not yet
# known here: vcpkg prints it, and the copy of this file in vcpkg's registry has it.
vcpkg_download_distfile(ARCHIVE
    URLS "https://github.com/OWNER/workqueue-cpp/releases/download/v${VERSION}/workqueue-cpp-${VERSION}.tar.gz"
    FILENAME "workqueue-cpp-${VERSION}.tar.gz"
    SHA512 0
)
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${ARCHIVE}")

# vcpkg's Abseil is static, and each shared library would have a copy of its state.
vcpkg_check_linkage(ONLY_STATIC_LIBRARY)

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS
    FEATURES
        inspect       WORKQUEUE_WITH_INSPECT
        opentelemetry WORKQUEUE_WITH_OPENTELEMETRY
        postgres      WORKQUEUE_WITH_POSTGRES
        prometheus    WORKQUEUE_WITH_PROMETHEUS
        shared        WORKQUEUE_WITH_SHARED
        sqlite        WORKQUEUE_WITH_SQLITE
        tls           WORKQUEUE_WITH_TLS
)
vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        -DWORKQUEUE_FETCH_DEPENDENCIES=OFF
        ${FEATURE_OPTIONS}
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME workqueue CONFIG_PATH lib/cmake/workqueue)
vcpkg_fixup_pkgconfig()
vcpkg_copy_pdbs()
if("inspect" IN_LIST FEATURES AND "shared" IN_LIST FEATURES)
    vcpkg_copy_tools(TOOL_NAMES workqueue-inspect AUTO_CLEAN)
endif()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
