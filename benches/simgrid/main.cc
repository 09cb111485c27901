// The flows of a list over a plain tree at flow level: max-min fair rates, as SimGrid works them out.

#include "flow_list.h"
#include "platform.h"
#include "replay.h"

#include <sys/resource.h>
#include <xbt/log.h>

#include <cstdio>
#include <ctime>
#include <exception>
#include <numeric>

namespace {

double CpuSeconds() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

long PeakMemoryBytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss * 1024;
}

/// SimGrid's plain flow-level model: links are shared max-min fairly, and nothing slows a flow down besides.
void ConfigureModel() {
    using simgrid::s4u::Engine;
    Engine::set_config("network/model:CM02");
    Engine::set_config("network/bandwidth-factor:1.0");
    Engine::set_config("network/latency-factor:1.0");
    Engine::set_config("network/weight-S:0.0");
    Engine::set_config("network/TCP-gamma:0.0");
    Engine::set_config("network/crosstraffic:0");
    // As many actors as flows: small stacks, without a guard page that would be a mapping of its own.
    Engine::set_config("contexts/stack-size:32");
    Engine::set_config("contexts/guard-size:0");
    // Flows last 20 us and more.
    Engine::set_config("surf/precision:1e-9");
}

double Mean(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void Run(const char* list) {
    ConfigureModel();
    const auto tasks = tree::ReadTasks(list);
    const double begin = CpuSeconds();
    const auto hosts = tree::Build({30, 31, 41, 1e9 / 8, 20e9 / 8, 620e9 / 8});
    const double built = CpuSeconds();
    const auto times = tree::Replay(tasks, hosts);
    const double done = CpuSeconds();
    std::printf(
        "{\"simgrid_version\": \"%s\", \"tasks\": %zu, \"platform_cpu_seconds\": %.6f, "
        "\"cpu_seconds\": %.6f, \"memory_bytes\": %ld, \"mean_completion\": %.9e}\n",
        SIMGRID_VERSION_NAME, tasks.size(), built - begin, done - built, PeakMemoryBytes(),
        Mean(times));
}

}  // namespace

int main(int argc, char** argv) {
    xbt_log_control_set("root.threshold:warning");
    simgrid::s4u::Engine engine(&argc, argv);
    if (argc != 2) {
        std::fprintf(stderr, "usage: tree FLOWS.csv\n");
        return 2;
    }
    try {
        Run(argv[1]);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "tree: %s\n", error.what());
        return 1;
    }
}
