// version.hpp - the version of gstar, written nowhere else.
#pragma once

// Python, pyproject.toml and CMake read these three lines; a test compares CITATION.cff with them.
#define GSTAR_VERSION_MAJOR 0
#define GSTAR_VERSION_MINOR 1
#define GSTAR_VERSION_PATCH 0

#define GSTAR_QUOTE_(major, minor, patch) #major "." #minor "." #patch
#define GSTAR_JOIN_(major, minor, patch) GSTAR_QUOTE_(major, minor, patch)

/// The version as text: "major.minor.patch".
#define GSTAR_VERSION \
    GSTAR_JOIN_(GSTAR_VERSION_MAJOR, GSTAR_VERSION_MINOR, GSTAR_VERSION_PATCH)
