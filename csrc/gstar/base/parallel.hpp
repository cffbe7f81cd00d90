// parallel.hpp - rows cut into parts, each part run by a thread of its own.
#pragma once

#include <algorithm>  // max, min
#include <cstddef>    // size_t
#include <exception>  // exception_ptr
#include <new>        // bad_alloc
#include <system_error>
#include <thread>
#include <vector>

namespace gstar {

/// Into how many parts so many rows are cut: below 65536 rows a part, starting a
/// thread costs more than it saves.
inline std::size_t parts_of(std::size_t n_rows, unsigned threads) noexcept {
    const std::size_t most = std::max<std::size_t>(1, n_rows / 65536);
    return std::min<std::size_t>(std::max(1u, threads), most);
}

/// `run(part, begin, end)` for each part, side by side where threads are to be had. Waits for all of them and
/// then throws what the first part that failed has thrown.
template <class Run>
void in_parts(std::size_t n_rows, std::size_t n_parts, Run run) {
    if (n_parts == 1) {
        run(std::size_t{0}, std::size_t{0}, n_rows);
        return;
    }
    std::vector<std::exception_ptr> failed(n_parts);
    const auto part = [&](std::size_t i) {
        const std::size_t each = n_rows / n_parts;
        try {
            run(i, each * i, i + 1 == n_parts ? n_rows : each * (i + 1));
        } catch (...) {
            failed[i] = std::current_exception();
        }
    };
    std::vector<std::thread> others;
    others.reserve(n_parts - 1);
    std::size_t next = 1;
    try {
        for (; next < n_parts; ++next) others.emplace_back(part, next);
    } catch (const std::system_error&) {
        // No thread to be had: what is left is done here.
    } catch (const std::bad_alloc&) {
        // The same: no memory for a thread.
    }
    part(0);
    for (; next < n_parts; ++next) part(next);
    for (std::thread& t : others) t.join();
    for (const std::exception_ptr& e : failed)
        if (e) std::rethrow_exception(e);
}

}  // namespace gstar
