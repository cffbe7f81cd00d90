// gstar.hpp - all doors at once.
#pragma once

#include "gstar/decide.hpp"   // scores + thresholds -> decisions
#include "gstar/density.hpp"  // counts -> pdf and cdf of a cell
#include "gstar/live.hpp"     // a decider that is replaced while others decide
#include "gstar/question_json.hpp"    // a question from JSON
#include "gstar/sketch.hpp"           // rows -> counts
#include "gstar/sketch_io.hpp"        // counts <-> bytes
#include "gstar/solve.hpp"            // counts and a question -> thresholds
#include "gstar/thresholds.hpp"       // one threshold for each group
#include "gstar/thresholds_io.hpp"    // thresholds <-> bytes
#include "gstar/thresholds_json.hpp"  // thresholds from JSON
#include "gstar/version.hpp"
