// thresholds.hpp - a set of thresholds and the policies it is used with.
#pragma once

#include <array>
#include <cmath>    // fabs, isfinite, isnan
#include <cstddef>  // size_t
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "gstar/base/name.hpp"

namespace gstar {

/// What to do with a row of a group that has no threshold.
enum class unknown_policy : std::uint8_t { raise, use_default, use_number };

/// What to do with a row whose score is NaN.
enum class nan_policy : std::uint8_t { raise, reject, accept };

/// One of the thresholds a randomised decision may draw.
struct mixture_part {
    double threshold = 0;
    double probability = 0;
};

struct group_threshold {
    name group;
    double threshold = 0;               ///< accept when score >= threshold
    std::vector<mixture_part> mixture;  ///< of a randomised set; else empty
};

struct thresholds {
    std::vector<group_threshold> groups;
    bool unified = false;     ///< one threshold for everybody: no group is needed
    bool randomized = false;  ///< every group has a mixture
    std::optional<double> default_threshold;  ///< the best unified one
    unknown_policy unknown = unknown_policy::raise;
    double unknown_number = 0;
    nan_policy nan = nan_policy::raise;
    std::optional<std::array<std::uint8_t, 32>> sketch_digest;
    std::optional<std::int64_t> expires;  ///< seconds since 1970, UTC
    /// Where a number stands for the group: its segments are the groups, 0 to the
    /// number of cut points.
    std::optional<std::vector<double>> cuts;

    /// The threshold of an unknown group; none where it is refused.
    std::optional<double> unknown_threshold() const {
        if (unknown == unknown_policy::use_default) return default_threshold;
        if (unknown == unknown_policy::use_number) return unknown_number;
        return std::nullopt;
    }
};

[[noreturn]] inline void bad_thresholds(const std::string& what) {
    refuse({"not_valid", "thresholds", -1, what});
}

/// Refuse cut points that are not finite and ascending, or whose segments are not
/// the groups.
inline void check_cuts(const thresholds& t) {
    if (!t.cuts) return;
    const std::vector<double>& cuts = *t.cuts;
    if (t.unified) bad_thresholds("they are unified, and have cuts");
    if (cuts.size() >= most_groups) bad_thresholds("more than 65534 cuts");
    for (std::size_t i = 0; i < cuts.size(); ++i)
        if (!std::isfinite(cuts[i]) || (i != 0 && !(cuts[i - 1] < cuts[i])))
            bad_thresholds("cuts must be finite and ascending");
    for (const group_threshold& g : t.groups)
        if (g.group.type != name::kind::integer || g.group.number < 0 ||
            static_cast<std::uint64_t>(g.group.number) > cuts.size())
            bad_thresholds("group " + text_of(g.group) +
                           " is not a segment of the cuts");
}

/// Refuse a set that cannot be decided by.
inline void check_thresholds(const thresholds& t) {
    if (t.groups.empty()) bad_thresholds("there is no group");
    if (t.groups.size() > most_groups) bad_thresholds("more than 65535 groups");
    std::map<name, std::size_t> seen;
    for (const group_threshold& g : t.groups) {
        if (!seen.emplace(as_dict_key(g.group), seen.size()).second)
            bad_thresholds("group " + text_of(g.group) + " is there twice");
        if (std::isnan(g.threshold))
            bad_thresholds("group " + text_of(g.group) + " has NaN");
        if (t.randomized == g.mixture.empty())
            bad_thresholds("either all groups or none have a mixture");
        if (g.mixture.empty()) continue;
        double sum = 0;
        for (const mixture_part& part : g.mixture) {
            if (std::isnan(part.threshold) || !(part.probability >= 0))
                bad_thresholds("group " + text_of(g.group) +
                               " has a mixture with NaN");
            sum += part.probability;
        }
        if (!(std::fabs(sum - 1) <= 1e-9))
            bad_thresholds("the probabilities of group " + text_of(g.group) +
                           " do not add up to 1");
    }
    if (t.unified)
        for (const group_threshold& g : t.groups)
            if (g.threshold != t.groups[0].threshold || t.randomized)
                bad_thresholds("they are unified, but groups differ");
    if (t.default_threshold && std::isnan(*t.default_threshold))
        bad_thresholds("the default is NaN");
    if (t.unknown == unknown_policy::use_default && !t.default_threshold)
        bad_thresholds("unknown groups take the default, but there is none");
    if (t.unknown == unknown_policy::use_number && std::isnan(t.unknown_number))
        bad_thresholds("the threshold of unknown groups is NaN");
    check_cuts(t);
}

}  // namespace gstar
