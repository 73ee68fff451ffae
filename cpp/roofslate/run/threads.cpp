#include "roofslate/run/threads.hpp"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace roofslate
{
    namespace
    {
        using Clock = std::chrono::steady_clock;
        // A thread without a task looks for the next one before it sleeps: as many times as long as its last task took,
        // within limits. To wake it takes about as long as the least of them.
        constexpr int patience = 8;
        constexpr Clock::duration least_patience = std::chrono::microseconds(50),
                                  most_patience = std::chrono::milliseconds(2);
        Clock::duration patience_after(Clock::duration task)
        { return std::min(std::max(patience * task, least_patience), most_patience); }

        // The processors that a thread may use. Kept threads follow whoever they work for. A thread that starts or
        // wakes is put on the processor of the one that asks for it as a rule and waits there for milliseconds, as long
        // as a call takes: so it is sent to the others, and free to move once it runs.
        class Processors
        {
        public:
#if defined(__linux__)
            Processors() { known_ = sched_getaffinity(0, sizeof all_, &all_) == 0; }
            void use() const // by the calling thread
            {
                if (known_)
                    sched_setaffinity(0, sizeof all_, &all_);
            }
            void send_elsewhere(pthread_t thread) const
            {
                if (!known_ || CPU_COUNT(&all_) < 2)
                    return;
                cpu_set_t other_cpus = all_;
                CPU_CLR(sched_getcpu(), &other_cpus);
                pthread_setaffinity_np(thread, sizeof other_cpus, &other_cpus);
            }
            bool operator==(const Processors& p) const { return known_ && p.known_ && CPU_EQUAL(&all_, &p.all_); }

        private:
            cpu_set_t all_{};
            bool known_;
#else
            void use() const {}
            template <class Thread> void send_elsewhere(Thread) const {}
            bool operator==(const Processors&) const { return true; }
#endif
        };
        std::thread::native_handle_type current_thread() { return pthread_self(); }
        template <class Done> void look_for(const Done& done, Clock::duration limit)
        {
            const auto start = Clock::now();
            for (auto waited = Clock::duration(0); !done() && waited < limit; waited = Clock::now() - start)
            {
                if (waited > least_patience)
                    std::this_thread::yield(); // there may be others
#if defined(__x86_64__)
                else
                    __builtin_ia32_pause();
#endif
            }
        }
        // Whoever holds it lets it go within a microsecond as a rule: to sleep and to be woken takes longer.
        void lock_soon(std::unique_lock<std::mutex>& lock)
        {
            look_for([&] { return lock.try_lock(); }, least_patience);
            if (!lock.owns_lock())
                lock.lock();
        }
    }

    struct Helpers::Task
    {
        const std::function<void()>& job;
        int open; // threads that may still begin
        std::atomic<int> working{0}; // ... that have begun
        std::condition_variable done{};
        Processors processors{};
        Clock::time_point start = Clock::now();
    };
    // All kept threads. It is never destroyed: they may outlive everything else.
    struct Helpers::Crew
    {
        std::mutex mutex{};
        std::condition_variable work_ready{};
        std::list<Task*> tasks{}; // with something open
        std::atomic<int> open{0}; // of all tasks
        int idle = 0; // threads without a task
        std::list<std::thread::native_handle_type> asleep{}; // the sleeping ones, to be woken
        Clock::time_point start{}, end{}; // of the last task
        int most_idle = int(std::max(1u, std::thread::hardware_concurrency()));

        void take_back(Task& task) // what no thread has begun
        {
            if (task.open)
                tasks.remove(&task);
            open -= task.open;
            task.open = 0;
        }
    };

    std::atomic<Helpers::Crew*> Helpers::crew{new Crew};

    namespace
    {
#if defined(__unix__) || defined(__APPLE__)
        // the threads of a process that forks are not in the new one, and their locks are as they were
        [[maybe_unused]] const int follows_forks = pthread_atfork(nullptr, nullptr, [] { Helpers::forget(); });
#endif
    }

    void Helpers::forget() { crew = new Crew; }
    void Helpers::work(Crew& all)
    {
        std::optional<Processors> mine; // not known where it was sent elsewhere
        Clock::duration patience_left = least_patience;
        std::unique_lock<std::mutex> lock(all.mutex);
        for (;;)
        {
            if (all.tasks.empty())
            {
                lock.unlock();
                look_for([&] { return all.open > 0; }, patience_left);
                lock_soon(lock);
                if (all.tasks.empty())
                {
                    if (all.idle > all.most_idle)
                    {
                        --all.idle;
                        return;
                    }
                    const auto self = all.asleep.insert(all.asleep.end(), current_thread());
                    all.work_ready.wait(lock, [&] { return !all.tasks.empty(); });
                    all.asleep.erase(self);
                    mine.reset();
                }
            }
            Task& task = *all.tasks.front();
            ++task.working, --task.open, --all.open, --all.idle;
            if (task.open == 0)
                all.tasks.pop_front();
            lock.unlock();
            if (!mine || !(*mine == task.processors))
                (mine = task.processors)->use();
            const auto start = Clock::now();
            task.job();
            patience_left = patience_after(Clock::now() - start);
            lock_soon(lock);
            if (--task.working == 0)
                task.done.notify_one();
            if (all.idle >= all.most_idle)
                return;
            ++all.idle;
        }
    }

    Helpers::Helpers(int threads, bool is_long, const std::function<void()>& job)
        : crew_(*crew), task_(new Task{job, threads})
    {
        const std::lock_guard<std::mutex> lock(crew_.mutex);
        const bool wakes = is_long || task_->start < crew_.end + patience_after(crew_.end - crew_.start);
        if (!wakes)
            task_->open = std::min(task_->open, crew_.idle - int(crew_.asleep.size()) - crew_.open);
        if (task_->open <= 0)
        {
            task_->open = 0;
            return;
        }
        crew_.tasks.push_back(task_.get());
        crew_.open += task_->open;
        try
        {
            for (; crew_.idle < crew_.open; ++crew_.idle)
            {
                std::thread thread([&all = crew_] { work(all); });
                task_->processors.send_elsewhere(thread.native_handle()); // it has not begun: that takes the lock
                thread.detach();
            }
        }
        catch (const std::system_error&) // no more threads: those that there are will do
        {
        }
        int woken = 0;
        for (auto thread = crew_.asleep.begin(); thread != crew_.asleep.end() && woken < task_->open; ++thread, ++woken)
        {
            task_->processors.send_elsewhere(*thread);
            crew_.work_ready.notify_one();
        }
    }
    bool Helpers::end_within(std::chrono::milliseconds limit)
    {
        if (ended_ || lost())
            return true;
        std::unique_lock<std::mutex> lock(crew_.mutex, std::defer_lock);
        lock_soon(lock);
        crew_.take_back(*task_);
        lock.unlock();
        look_for([&] { return task_->working == 0; }, most_patience);
        lock_soon(lock); // which whoever ends last holds until it needs the task no more
        ended_ = task_->done.wait_for(lock, limit, [&] { return task_->working == 0; });
        return ended_;
    }
    Helpers::~Helpers()
    {
        while (!end_within(std::chrono::seconds(1))) {}
        if (lost())
            return;
        const std::lock_guard<std::mutex> lock(crew_.mutex);
        crew_.start = task_->start, crew_.end = Clock::now();
    }
    bool Helpers::lost() const { return crew.load() != &crew_; }
}
