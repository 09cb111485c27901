#include "replay.h"

namespace tree {
namespace {

namespace sg4 = simgrid::s4u;

constexpr uint64_t kSegmentBytes = 1460;
constexpr uint64_t kHeaderBytes = 40;

/// Bytes with the headers of all segments.
uint64_t WireBytes(uint64_t bytes) {
    return bytes + (bytes + kSegmentBytes - 1) / kSegmentBytes * kHeaderBytes;
}

/// Sends a task's flows, and tells when all are done.
double Send(const Task& task, const std::vector<sg4::Host*>& hosts) {
    std::vector<sg4::CommPtr> comms;
    for (const Flow& flow : task.flows) {
        comms.push_back(sg4::Comm::sendto_async(hosts.at(flow.source), hosts.at(flow.destination),
                                                WireBytes(flow.bytes)));
    }
    sg4::Comm::wait_all(comms);
    return sg4::Engine::get_clock();
}

}  // namespace

std::vector<double> Replay(const std::vector<Task>& tasks, const std::vector<sg4::Host*>& hosts) {
    std::vector<double> times(tasks.size());
    // An actor for each task that is under way; its flows need none.
    const auto start_all = [&] {
        for (size_t i = 0; i < tasks.size(); ++i) {
            sg4::this_actor::sleep_until(tasks[i].start);
            sg4::Actor::create("task", hosts.front(),
                               [&, i] { times[i] = Send(tasks[i], hosts) - tasks[i].start; });
        }
    };
    sg4::Actor::create("tasks", hosts.front(), start_all);
    sg4::Engine::get_instance()->run();
    return times;
}

}  // namespace tree
