// DCTCP over a datacenter fabric in ns-3: the independent reference of Tailrace's packet-level
// simulator. See README.md.

#include "connections.h"
#include "flow_list.h"
#include "network.h"
#include "options.h"
#include "report.h"
#include "units.h"

#include <ns3/object-factory.h>
#include <ns3/scheduler.h>
#include <ns3/simulator.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <numeric>

using namespace ns3;

namespace fabric {
namespace {

void SetScheduler(const std::string& name) {
    ObjectFactory factory(name == "heap"             ? "ns3::HeapScheduler"
                          : name == "calendar"       ? "ns3::CalendarScheduler"
                          : name == "priority-queue" ? "ns3::PriorityQueueScheduler"
                                                     : "ns3::MapScheduler");
    Simulator::SetScheduler(factory);
}

void RequireWritable(const std::ostream& file, const std::string& path) {
    if (!file) {
        throw UserError(path + ": cannot be written");
    }
}

/// Writes the completion times; a flow that has not completed gets an empty one. Returns how many
/// flows that are.
uint64_t WriteCompletionTimes(std::ofstream& file, const ConnectionSet& connections) {
    uint64_t unfinished = 0;
    file << "flow,src,dst,size_bytes,start_ns,fct_ns\n" << std::fixed << std::setprecision(3);
    for (const auto& connection : connections.Connections()) {
        const Flow& flow = connection->GetFlow();
        file << flow.id << ',' << flow.source << ',' << flow.destination << ',' << flow.bytes << ','
             << flow.startNs << ',';
        if (const auto time = connections.CompletionTime(*connection)) {
            file << time->GetPicoSeconds() * 1e-3;
        } else {
            ++unfinished;
        }
        file << '\n';
    }
    return unfinished;
}

void RunFlowCompletion(const Options& options) {
    const FlowCompletionOptions& completion = options.completion;
    const std::vector<Flow> flows =
        ReadFlowList(completion.flowFile, options.topology.HostCount());
    std::ofstream output(completion.outputFile);
    RequireWritable(output, completion.outputFile);
    Network network(options.topology, options.ports, options.transport.WireBytes());
    ConnectionSet connections(flows, network, options.transport,
                              Microseconds(completion.connectLeadUs));
    connections.Start();
    Simulator::Stop(Seconds(completion.maxSeconds));
    const RunTime time = RunSimulation();

    const uint64_t unfinished = WriteCompletionTimes(output, connections);
    RequireWritable(output.flush(), completion.outputFile);
    JsonObject report;
    report.Add("mode", std::string("fct"));
    report.Add("flows", uint64_t(flows.size()));
    report.Add("unfinished_flows", unfinished);
    AddRun(report, options, time, network, connections.Counts());
    std::cout << report.Text() << std::endl;
    Simulator::Destroy();
}

/// Watches the bottleneck port of a dumbbell from the end of the warm-up on.
class BottleneckMonitor {
  public:
    BottleneckMonitor(const EgressPort& port, const ConnectionSet& connections,
                      const QueueLengthOptions& options)
        : m_port(port), m_connections(connections), m_options(options) {}

    void Start() {
        Simulator::Schedule(Seconds(m_options.warmUpSeconds), [this] {
            m_sentAtStart = m_port.SentBytes();
            m_receivedAtStart = Received();
            Sample();
        });
    }

    void AddResults(JsonObject& report, uint64_t rate) const {
        const double bits = 8.0 * (m_port.SentBytes() - m_sentAtStart);
        report.Add("utilisation", bits / (rate * m_options.durationSeconds));
        std::vector<double> goodput = Received();
        for (size_t i = 0; i < goodput.size(); ++i) {
            goodput[i] = 8 * (goodput[i] - m_receivedAtStart[i]) / m_options.durationSeconds;
        }
        report.Add("goodput_bps", goodput);
        report.Add("samples", uint64_t(m_bytes.size()));
        report.Add("queue_bytes", Summary(m_bytes));
        report.Add("queue_packets", Summary(m_packets));
    }

  private:
    void Sample() {
        m_bytes.push_back(m_port.WaitingBytes());
        m_packets.push_back(m_port.WaitingPackets());
        Simulator::Schedule(Microseconds(m_options.sampleUs), &BottleneckMonitor::Sample, this);
    }

    /// Payload bytes that have reached each receiver.
    std::vector<double> Received() const {
        std::vector<double> received;
        for (const auto& connection : m_connections.Connections()) {
            received.push_back(connection->ReceivedBytes());
        }
        return received;
    }

    /// Percentiles are by nearest rank.
    static JsonObject Summary(std::vector<double> samples) {
        std::sort(samples.begin(), samples.end());
        const double count = samples.size();
        const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
        double squares = 0;
        for (const double sample : samples) {
            squares += (sample - mean) * (sample - mean);
        }
        const auto percentile = [&samples, count](double p) {
            return samples[static_cast<size_t>(std::ceil(p * count)) - 1];
        };
        JsonObject summary;
        summary.Add("mean", mean);
        summary.Add("std", std::sqrt(squares / count));
        summary.Add("min", samples.front());
        summary.Add("p1", percentile(0.01));
        summary.Add("p50", percentile(0.50));
        summary.Add("p99", percentile(0.99));
        summary.Add("max", samples.back());
        return summary;
    }

    const EgressPort& m_port;
    const ConnectionSet& m_connections;
    const QueueLengthOptions& m_options;
    uint64_t m_sentAtStart = 0;
    std::vector<double> m_receivedAtStart;
    std::vector<double> m_bytes;
    std::vector<double> m_packets;
};

std::vector<Flow> LongLivedFlows(const QueueLengthOptions& options) {
    std::vector<Flow> flows;
    for (uint32_t i = 0; i < options.flows; ++i) {
        const uint32_t receiver = options.flows + (options.singleReceiver ? 0 : i);
        const auto start = static_cast<uint64_t>(i * options.startSpacingUs * 1e3);
        flows.push_back({i, i, receiver, kUnbounded, start});
    }
    return flows;
}

void RunQueueLength(const Options& options) {
    const QueueLengthOptions& queue = options.queue;
    Network network(options.topology, options.ports, options.transport.WireBytes());
    ConnectionSet connections(LongLivedFlows(queue), network, options.transport, MilliSeconds(2));
    connections.Start();
    BottleneckMonitor monitor(network.Uplink(0, 0), connections, queue);
    monitor.Start();
    Simulator::Stop(Seconds(queue.warmUpSeconds + queue.durationSeconds));
    const RunTime time = RunSimulation();

    JsonObject report;
    report.Add("mode", std::string("queue"));
    report.Add("flows", uint64_t(queue.flows));
    monitor.AddResults(report, options.topology.coreRate);
    AddRun(report, options, time, network, connections.Counts());
    std::cout << report.Text() << std::endl;
    Simulator::Destroy();
}

void Run(int argc, char** argv) {
    const Options options = ParseOptions(argc, argv);
    Time::SetResolution(Time::PS);  // 10 Gbps and more are not whole nanoseconds a byte
    SetScheduler(options.scheduler);
    ConfigureTcp(options.transport);
    if (options.mode == Mode::FlowCompletion) {
        RunFlowCompletion(options);
    } else {
        RunQueueLength(options);
    }
}

}  // namespace
}  // namespace fabric

int main(int argc, char** argv) {
    try {
        fabric::Run(argc, argv);
    } catch (const fabric::UserError& error) {
        std::cerr << "fabric: " << error.what() << std::endl;
        return 2;
    }
}
