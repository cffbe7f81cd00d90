// live.hpp - a decider that is replaced while others decide.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>  // size_t
#include <cstdint>
#include <memory>  // unique_ptr
#include <mutex>
#include <optional>
#include <thread>   // yield
#include <utility>  // move

#include "gstar/decide.hpp"

namespace gstar {

/// The decider of the moment. Readers never wait; old ones are freed.
///
/// A reader first counts itself in, then takes the pointer. Whoever took an old
/// pointer was thus counted before it was exchanged, and stays counted while
/// using it: once a swap has seen every count at zero after the exchange, nobody
/// holds the old one. New readers count themselves in a second set of counts
/// meanwhile, so that a swap never waits for those who come after it.
class live_decider {
    struct version_of {
        decider what;
        std::uint64_t version;
    };
    struct alignas(64) count {
        std::atomic<std::uint32_t> readers{0};
    };
    static constexpr std::size_t stripes = 16;

public:
    explicit live_decider(thresholds t)
        : now_(new version_of{decider(std::move(t)), 1}) {}
    ~live_decider() { delete now_.load(); }
    live_decider(const live_decider&) = delete;
    live_decider& operator=(const live_decider&) = delete;

    /// One decider, held as long as this lives: for a batch, or for many rows.
    class reading {
    public:
        explicit reading(live_decider& from)
            : count_(from.counts_[from.side_.load()][stripe()]) {
            count_.readers.fetch_add(1);
            held_ = from.now_.load();
        }
        ~reading() { count_.readers.fetch_sub(1, std::memory_order_release); }
        reading(const reading&) = delete;
        reading& operator=(const reading&) = delete;

        const decider& operator*() const noexcept { return held_->what; }
        const decider* operator->() const noexcept { return &held_->what; }
        std::uint64_t version() const noexcept { return held_->version; }

    private:
        /// Threads keep apart, so that they do not fight for a cache line.
        static std::size_t stripe() noexcept {
            static std::atomic<std::size_t> next{0};
            thread_local const std::size_t mine = next.fetch_add(1) % stripes;
            return mine;
        }
        count& count_;
        const version_of* held_;
    };

    /// Replace the thresholds; returns the new version once nobody uses the old.
    /// Expired thresholds are rejected.
    std::uint64_t swap(thresholds t) {
        if (seconds_until(t.expires).value_or(1) <= 0)
            refuse({"swap_expired", "thresholds", -1, *t.expires});
        decider next(std::move(t));  // may throw: nothing has changed
        const std::lock_guard<std::mutex> lock(guard_);
        const std::uint64_t version = now_.load()->version + 1;
        const std::unique_ptr<const version_of> old(
            now_.exchange(new version_of{std::move(next), version}));
        const unsigned side = side_.load();
        wait_for(1 - side);  // late readers of an earlier swap
        side_.store(1 - side);
        wait_for(side);
        return version;
    }

    std::uint64_t version() { return reading(*this).version(); }

    /// Seconds until the current thresholds expire, 0 once they have; none if they do
    /// not expire.
    std::optional<double> seconds_left() {
        return seconds_until(reading(*this)->set().expires);
    }

    /// Whether the current thresholds have expired. They are still used.
    bool expired() { return seconds_left().value_or(1) <= 0; }

private:
    static std::optional<double> seconds_until(std::optional<std::int64_t> end) {
        if (!end) return std::nullopt;
        const std::chrono::duration<double> now =
            std::chrono::system_clock::now().time_since_epoch();
        const double left = static_cast<double>(*end) - now.count();
        return left > 0 ? left : 0;
    }

    void wait_for(unsigned side) const {
        for (const count& c : counts_[side])
            while (c.readers.load() != 0) std::this_thread::yield();
    }

    std::mutex guard_;  ///< of swaps; readers know nothing of it
    std::atomic<unsigned> side_{0};
    std::atomic<const version_of*> now_;
    std::array<std::array<count, stripes>, 2> counts_;
};

}  // namespace gstar
