// question_json.hpp - a question from the JSON of Python's Question.to_dict.
#pragma once

#include <cmath>      // trunc
#include <stdexcept>  // invalid_argument
#include <string>
#include <string_view>
#include <vector>

#include "gstar/base/json.hpp"
#include "gstar/solve/question.hpp"

namespace gstar {

/// A question that Python answers and `solve` does not.
class unsupported_question : public std::invalid_argument {
public:
    explicit unsupported_question(const std::string& what)
        : std::invalid_argument(what + " is solved in Python only") {}
};

namespace detail {

inline double question_number(const json* v, const std::string& name) {
    if (v == nullptr || !v->is_number()) bad_question(name + " must be a number");
    return v->real;
}

/// The form and the rates of a criterion; the bound is left to the caller.
inline limit question_criterion(const std::string& name) {
    if (name == "demographic_parity") return {form::difference, {rate::selection}};
    if (name == "equal_opportunity") return {form::difference, {rate::tpr}};
    if (name == "predictive_equality") return {form::difference, {rate::fpr}};
    if (name == "equalized_odds") return {form::difference, {rate::tpr, rate::fpr}};
    if (name == "accuracy_parity") return {form::difference, {rate::accuracy}};
    if (name == "balanced_accuracy_parity")
        return {form::difference, {rate::balanced_accuracy}};
    if (name == "equalized_odds_sum") return {form::sum, {rate::tpr, rate::fpr}};
    if (name == "disparate_impact") return {form::ratio, {rate::selection}};
    throw unsupported_question("a limit on '" + name + "'");
}

inline limit question_limit(const json& v) {
    const json* const of = v.find("of");
    if (of == nullptr || of->type != json::kind::text || v.members.size() != 2)
        bad_question("a limit has the members of and at_least or at_most");
    limit out = question_criterion(of->text);
    const char* const end = out.what == form::ratio ? "at_least" : "at_most";
    out.bound = question_number(v.find(end), of->text + "." + end);
    return out;
}

inline std::int64_t question_price(const json& v, const std::string& name) {
    const double price = question_number(v.find(name), "objective." + name);
    if (price != std::trunc(price) || !(price >= 0 && price <= 0x1p31))
        throw unsupported_question("a price that is not whole, or above 2^31,");
    return static_cast<std::int64_t>(price);
}

inline void read_question_objective(question& q, const json& v) {
    if (v.type == json::kind::text && v.text == "balanced_error") {
        q.balanced = true;
    } else if (v.type == json::kind::object) {
        q.price_fp = question_price(v, "fp");
        q.price_fn = question_price(v, "fn");
        if (const json* const balanced = v.find("balanced"))
            q.balanced = balanced->truth;
        if (v.members.size() > (v.find("balanced") != nullptr ? 3 : 2))
            bad_question("objective has the members fp, fn and balanced");
    } else if (v.text != "error") {
        bad_question("objective must be 'error', 'balanced_error' or prices");
    }
}

}  // namespace detail

/// The question that this text asks, or std::invalid_argument.
///
/// Options that are left out are as by default in Python. One of them is `evidence`,
/// of which `solve` knows nothing, so that most questions must say "evidence": 0.
inline question read_question(std::string_view text) {
    using detail::question_number;
    const json asked = read_json(text);
    if (asked.type != json::kind::object) bad_question("it must be an object");
    question out;
    double evidence = 1;
    const auto want = [](const json& v, json::kind kind, const std::string& name) {
        if (v.type != kind) bad_question(name + " is of another type");
    };
    for (const auto& [name, v] : asked.members) {
        if (name == "limits") {
            want(v, json::kind::list, name);
            for (const json& one : v.list)
                out.limits.push_back(detail::question_limit(one));
        } else if (name == "penalties") {
            want(v, json::kind::object, name);
            for (const auto& [of, weight] : v.members) {
                const limit compared = detail::question_criterion(of);
                if (compared.what != form::difference)
                    bad_question(of + " can be limited, not penalised");
                out.penalties.push_back(
                    {compared.of, question_number(&weight, of)});
            }
        } else if (name == "objective") {
            detail::read_question_objective(out, v);
        } else if (name == "unified" || name == "randomize") {
            want(v, json::kind::boolean, name);
            (name == "unified" ? out.unified : out.randomize) = v.truth;
        } else if (name == "max_seconds") {
            out.seconds = question_number(&v, name);
        } else if (name == "evidence") {
            evidence = question_number(&v, name);
        } else {
            throw unsupported_question("the option '" + name + "'");
        }
    }
    if (evidence != 0 && !out.unified && out.penalties.empty())
        throw unsupported_question("a question without \"evidence\": 0");
    check_question(out);
    return out;
}

}  // namespace gstar
