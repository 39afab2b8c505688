# How each C target of the project is compiled, in one place.

# fl_library(NAME SOURCES...): a static library that can be linked into the extension.
function(fl_library name)
    add_library(${name} STATIC ${ARGN})
    fl_target(${name})
endfunction()

function(fl_target name)
    set_target_properties(${name} PROPERTIES
        C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF
        POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
    target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
    target_compile_options(${name} PRIVATE
        -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes $<$<BOOL:${FLAMELET_WERROR}>:-Werror>)
    if(FLAMELET_SANITIZE)
        target_compile_options(${name} PUBLIC -fsanitize=${FLAMELET_SANITIZE} -fno-omit-frame-pointer)
        target_link_options(${name} PUBLIC -fsanitize=${FLAMELET_SANITIZE})
    endif()
endfunction()

# fl_require_library(PREFIX MODULE DEBIAN_PACKAGE): a library by pkg-config, or an error that names its Debian package.
function(fl_require_library prefix module package)
    find_package(PkgConfig QUIET)
    if(NOT PkgConfig_FOUND)
        message(FATAL_ERROR "pkg-config is missing. On Debian: apt-get install pkg-config")
    endif()
    pkg_check_modules(${prefix} QUIET IMPORTED_TARGET GLOBAL ${module})
    if(NOT ${prefix}_FOUND)
        message(FATAL_ERROR "${module} is missing. On Debian: apt-get install ${package}")
    endif()
endfunction()
