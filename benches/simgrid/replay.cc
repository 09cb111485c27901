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

/// Has a task's flows sent to the host that this actor is on, and tells when all are there.
double Receive(const Task& task, const std::vector<sg4::Host*>& hosts) {
    static char payload;
    sg4::Mailbox* mailbox = sg4::Mailbox::by_name(std::to_string(sg4::this_actor::get_pid()));
    std::vector<sg4::CommPtr> comms;
    std::vector<char*> received(task.flows.size());
    for (size_t i = 0; i < task.flows.size(); ++i) {
        const uint64_t bytes = WireBytes(task.flows[i].bytes);
        sg4::Actor::create("flow", hosts.at(task.flows[i].source),
                           [=] { mailbox->put(&payload, bytes); });
        comms.push_back(mailbox->get_async<char>(&received[i]));
    }
    sg4::Comm::wait_all(comms);
    return sg4::Engine::get_clock();
}

}  // namespace

std::vector<double> Replay(const std::vector<Task>& tasks, const std::vector<sg4::Host*>& hosts) {
    std::vector<double> times(tasks.size());
    // Flows without actors (Comm::sendto) are all in one list that SimGrid 3.32 searches whenever one ends.
    const auto start_all = [&] {
        for (size_t i = 0; i < tasks.size(); ++i) {
            sg4::this_actor::sleep_until(tasks[i].start);
            sg4::Actor::create("task", hosts.at(tasks[i].flows.front().destination),
                               [&, i] { times[i] = Receive(tasks[i], hosts) - tasks[i].start; });
        }
    };
    sg4::Actor::create("tasks", hosts.front(), start_all);
    sg4::Engine::get_instance()->run();
    return times;
}

}  // namespace tree
