// version.hpp - the version of the library.
#pragma once

#define GSTAR_VERSION "0.1.0"
