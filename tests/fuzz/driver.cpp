// Stands in for libFuzzer where the compiler is not Clang: inputs are mutated, and those that reach new code are kept.
// Options as there: -runs=N, -max_total_time=SECONDS, -seed=N, -max_len=BYTES; files are run once each.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern bool reached_new; // of trace.cpp

namespace
{
    using Input = std::vector<std::uint8_t>;
    using Clock = std::chrono::steady_clock;

    // The input at work lies in a file that outlives a crash.
    class Record
    {
    public:
        explicit Record(std::size_t most)
            : bytes_(sizeof(std::size_t) + most), name_("crash-" + std::to_string(getpid()))
        {
            const int file = open(name_.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
            if (file < 0 || ftruncate(file, off_t(bytes_)) != 0)
                std::exit((std::perror(name_.c_str()), 2));
            memory_ = static_cast<std::uint8_t*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
            close(file);
            if (memory_ == MAP_FAILED)
                std::exit((std::perror("mmap"), 2));
        }
        void keep(const Input& input)
        {
            const std::size_t size = input.size();
            std::memcpy(memory_, &size, sizeof size);
            std::copy(input.begin(), input.end(), memory_ + sizeof size);
        }
        void remove() const { unlink(name_.c_str()); }
        static Input read(const char* name)
        {
            std::ifstream file(name, std::ios::binary);
            Input all((std::istreambuf_iterator<char>(file)), {});
            std::size_t size = 0;
            if (std::strstr(name, "crash-") && all.size() >= sizeof size)
            {
                std::memcpy(&size, all.data(), sizeof size);
                all.erase(all.begin(), all.begin() + sizeof size);
                all.resize(std::min(size, all.size()));
            }
            return all;
        }

    private:
        std::size_t bytes_;
        std::string name_;
        std::uint8_t* memory_;
    };

    class Mutator
    {
    public:
        Mutator(std::uint64_t seed, std::size_t most) : random_(seed), most_(most) {}
        Input next(const std::vector<Input>& corpus)
        {
            Input input = corpus[below(corpus.size())];
            for (std::size_t changes = 1 + below(4); changes > 0; --changes)
                change(input, corpus);
            input.resize(std::min(input.size(), most_));
            return input;
        }

    private:
        std::size_t below(std::size_t n) { return std::size_t(random_() % n); }
        void change(Input& input, const std::vector<Input>& corpus)
        {
            const std::size_t at = below(input.size() + 1);
            const auto place = input.begin() + std::ptrdiff_t(at);
            const std::size_t length = std::min<std::size_t>(1 + below(8), input.size() - at);
            switch (below(7))
            {
            case 0: input.insert(place, 1 + below(8), std::uint8_t(random_())); break;
            case 1: input.erase(place, place + std::ptrdiff_t(length)); break;
            case 2:
                std::generate(place, place + std::ptrdiff_t(length), [&] { return std::uint8_t(random_()); });
                break;
            case 3:
            {
                const Input& other = corpus[below(corpus.size())];
                const std::size_t from = below(other.size() + 1);
                input.resize(at);
                input.insert(input.end(), other.begin() + std::ptrdiff_t(from), other.end());
                break;
            }
            case 4:
                input.insert(input.end(), 1 + below(16), 0),
                    std::generate(input.end() - 1, input.end(), [&] { return std::uint8_t(random_()); });
                break;
            default:
                if (length)
                    *place = below(2) ? std::uint8_t(random_()) : std::uint8_t(*place ^ 1u << below(8));
            }
        }
        std::mt19937_64 random_;
        std::size_t most_;
    };
}

int main(int count, char** words)
{
    std::size_t runs = SIZE_MAX, most = 192;
    double seconds = 1e9;
    std::uint64_t seed = 1;
    bool only_files = false;
    for (int k = 1; k < count; ++k)
    {
        const std::string word = words[k];
        const std::size_t equals = word.find('=');
        const char* const value = words[k] + (equals == std::string::npos ? 0 : equals + 1);
        const std::string name = word.substr(0, equals);
        if (name == "-runs")
            runs = std::strtoull(value, nullptr, 10);
        else if (name == "-max_total_time")
            seconds = std::strtod(value, nullptr);
        else if (name == "-seed")
            seed = std::strtoull(value, nullptr, 10);
        else if (name == "-max_len")
            most = std::strtoull(value, nullptr, 10);
        else if (word[0] != '-')
        {
            const Input input = Record::read(words[k]);
            LLVMFuzzerTestOneInput(input.data(), input.size());
            only_files = true;
        }
    }
    if (only_files)
        return 0;

    Record record(most);
    Mutator mutator(seed, most);
    std::vector<Input> corpus{{}};
    const Clock::time_point begin = Clock::now();
    const auto passed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
    std::size_t run = 0;
    for (; run < runs && (run % 64 || passed() < seconds); ++run)
    {
        Input input = mutator.next(corpus);
        record.keep(input);
        reached_new = false;
        LLVMFuzzerTestOneInput(input.data(), input.size());
        if (reached_new)
            corpus.push_back(std::move(input));
    }
    record.remove();
    std::printf("%s: %zu executions in %.0f s, %zu inputs kept\n", words[0], run, passed(), corpus.size());
}
