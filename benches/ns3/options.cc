#include "options.h"

#include <cmath>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <limits>
#include <sstream>

namespace fabric {
namespace {

/// The options by name: how to set one from text, how to show it, and its help line.
class OptionTable {
  public:
    void AddCount(const std::string& name, uint32_t& target, uint32_t min,
                  const std::string& help) {
        const double max = std::numeric_limits<uint32_t>::max();
        auto set = [&target, min, max](const std::string& text) {
            target = static_cast<uint32_t>(ParseWhole(text, min, max));
        };
        Add(name, help, set, [&target] { return std::to_string(target); });
    }

    void AddRate(const std::string& name, uint64_t& target, const std::string& help) {
        auto set = [&target](const std::string& text) {
            target = static_cast<uint64_t>(ParseWhole(text, 1, 1e15));
        };
        Add(name, help, set, [&target] { return std::to_string(target); });
    }

    void AddReal(const std::string& name, double& target, double min, double max,
                 const std::string& help) {
        auto set = [&target, min, max](const std::string& text) {
            target = ParseReal(text, min, max);
        };
        Add(name, help, set, [&target] { return ShowReal(target); });
    }

    void AddText(const std::string& name, std::string& target, const std::string& help) {
        Add(name, help, [&target](const std::string& text) { target = text; },
            [&target] { return target; });
    }

    template <typename T>
    void AddChoice(const std::string& name, T& target,
                   const std::vector<std::pair<std::string, T>>& choices, const std::string& help) {
        std::string names;
        for (const auto& choice : choices) {
            names += (names.empty() ? "" : "|") + choice.first;
        }
        auto set = [&target, choices, names](const std::string& text) {
            for (const auto& choice : choices) {
                if (choice.first == text) {
                    target = choice.second;
                    return;
                }
            }
            throw UserError("expected one of " + names);
        };
        auto show = [&target, choices] {
            for (const auto& choice : choices) {
                if (choice.second == target) {
                    return choice.first;
                }
            }
            return std::string();
        };
        Add(name, help + " (" + names + ")", set, show);
    }

    /// Applies one argument of the form --name=value.
    void Apply(const std::string& argument) const {
        const size_t equals = argument.find('=');
        if (argument.rfind("--", 0) != 0 || equals == std::string::npos) {
            throw UserError("'" + argument + "': expected --name=value (--help lists the names)");
        }
        const std::string name = argument.substr(2, equals - 2);
        const std::string value = argument.substr(equals + 1);
        for (const Entry& entry : m_entries) {
            if (entry.name == name) {
                try {
                    entry.set(value);
                } catch (const UserError& error) {
                    throw UserError("--" + name + "=" + value + ": " + error.what());
                }
                return;
            }
        }
        throw UserError("unknown option --" + name + " (--help lists the names)");
    }

    void PrintHelp() const {
        for (const Entry& entry : m_entries) {
            std::cout << "  --" << entry.name << "=" << entry.show() << "\n        " << entry.help
                      << "\n";
        }
    }

    std::vector<std::pair<std::string, std::string>> Values() const {
        std::vector<std::pair<std::string, std::string>> values;
        for (const Entry& entry : m_entries) {
            values.emplace_back(entry.name, entry.show());
        }
        return values;
    }

  private:
    struct Entry {
        std::string name;
        std::string help;
        std::function<void(const std::string&)> set;
        std::function<std::string()> show;
    };

    void Add(const std::string& name, const std::string& help,
             std::function<void(const std::string&)> set, std::function<std::string()> show) {
        m_entries.push_back({name, help, std::move(set), std::move(show)});
    }

    static std::string ShowReal(double value) {
        std::ostringstream text;
        text.precision(12);
        text << value;
        return text.str();
    }

    static double ParseReal(const std::string& text, double min, double max) {
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        if (text.empty() || *end != '\0' || !(value >= min && value <= max)) {
            throw UserError("expected a number from " + ShowReal(min) + " to " + ShowReal(max));
        }
        return value;
    }

    static double ParseWhole(const std::string& text, double min, double max) {
        const double value = ParseReal(text, min, max);
        if (value != std::floor(value)) {
            throw UserError("expected a whole number");
        }
        return value;
    }

    std::vector<Entry> m_entries;
};

constexpr double kMaxNs = 1e9;
constexpr double kMaxUs = 1e7;
constexpr double kMaxSeconds = 1e5;
const std::vector<std::pair<std::string, bool>> kOnOff = {{"on", true}, {"off", false}};

void AddTopologyOptions(OptionTable& table, TopologyOptions& o) {
    table.AddChoice<Shape>("topology", o.shape,
                           {{"leaf-spine", Shape::LeafSpine},
                            {"dumbbell", Shape::Dumbbell},
                            {"star", Shape::Star}},
                           "shape of the network");
    table.AddCount("leaves", o.leaves, 1, "leaf switches (leaf-spine only)");
    table.AddCount("spines", o.spines, 1, "spine switches (leaf-spine only)");
    table.AddCount("hosts-per-leaf", o.hostsPerLeaf, 1,
                   "hosts below each leaf; in a dumbbell, on each side");
    table.AddRate("host-rate", o.hostRate, "rate of the host links, bit/s");
    table.AddRate("core-rate", o.coreRate,
                  "rate of the links between switches, bit/s; 0: 40 Gbps in a leaf-spine, else the "
                  "host rate");
    table.AddReal("host-delay-ns", o.hostDelayNs, 0, kMaxNs, "one-way delay of a host link");
    table.AddReal("core-delay-ns", o.coreDelayNs, 0, kMaxNs,
                  "one-way delay of a link between switches");
    table.AddChoice<LoadBalancing>("load-balancing", o.loadBalancing,
                                   {{"ecmp", LoadBalancing::Ecmp}, {"spray", LoadBalancing::Spray}},
                                   "uplink choice: hash of the flow, or round robin per packet");
}

void AddPortOptions(OptionTable& table, PortOptions& o) {
    table.AddChoice<QueueUnit>("queue-unit", o.queueUnit,
                               {{"bytes", QueueUnit::Bytes}, {"packets", QueueUnit::Packets}},
                               "what buffers and thresholds count: the bytes of so many full "
                               "packets, or packets of any size");
    table.AddCount("mark-threshold", o.markThreshold, 3, "ECN marking threshold K, packets");
    table.AddCount("core-mark-threshold", o.coreMarkThreshold, 0,
                   "the same at links between switches, packets; 0: as --mark-threshold");
    table.AddCount("buffer", o.buffer, 4, "buffer of an egress port, packets");
    table.AddChoice<bool>("host-marking", o.hostMarking, kOnOff,
                          "whether the hosts' own egress ports mark too");
    table.AddCount("host-buffer", o.hostBuffer, 0,
                   "buffer of a host's egress port, packets; 0: as --buffer");
}

void AddTransportOptions(OptionTable& table, TransportOptions& o) {
    table.AddCount("mss", o.mss, 1, "payload of a full segment, bytes");
    table.AddCount("initial-window", o.initialWindow, 1, "initial congestion window, segments");
    table.AddReal("min-rto-us", o.minRtoUs, 0, kMaxUs, "lower bound of the retransmission timeout");
    table.AddCount("delayed-ack", o.delayedAckCount, 1, "packets per ACK");
    table.AddReal("delayed-ack-timeout-us", o.delayedAckTimeoutUs, 0, kMaxUs,
                  "longest wait of a delayed ACK");
    table.AddReal("dctcp-g", o.gain, 0, 1, "gain of the moving average alpha");
    table.AddReal("initial-alpha", o.initialAlpha, 0, 1, "alpha of a new connection");
    table.AddCount("min-window", o.minWindow, 0,
                   "smallest window that a cut leaves, segments; 0: none, as ns-3");
    table.AddChoice<bool>("loss-cut", o.halveOnLoss, {{"half", true}, {"alpha", false}},
                          "how a loss cuts the window: RFC 8257 halves it, ns-3 uses alpha");
    table.AddChoice<bool>("growth", o.wholeGrowth, {{"segments", true}, {"fractions", false}},
                          "window grows a little with each ACK, as Tailrace's, or by whole segments, as "
                          "ns-3");
    table.AddChoice<bool>("recovery", o.rateReduction, {{"classic", false}, {"prr", true}},
                          "window cut at once, or spread over a round trip");
    table.AddChoice<bool>("sack", o.sack, kOnOff, "selective acknowledgements");
    table.AddCount("reordering-threshold", o.reorderingThreshold, 1,
                   "duplicate ACKs that start a fast retransmit (1000000 when spraying)");
    table.AddChoice<bool>("timestamps", o.timestamps, kOnOff, "TCP timestamps, 12 B per packet");
    table.AddCount("socket-buffer", o.socketBuffer, 1u << 20, "send and receive buffers, bytes");
    table.AddReal("clock-granularity-us", o.clockGranularityUs, 0, kMaxUs,
                  "granularity of the retransmission timer");
}

void AddCompletionOptions(OptionTable& table, FlowCompletionOptions& o) {
    table.AddText("flows", o.flowFile, "flow list, CSV: src,dst,size_bytes,start_ns (required)");
    table.AddText("output", o.outputFile, "completion times, CSV (required)");
    table.AddReal("connect-lead-us", o.connectLeadUs, 0, kMaxUs,
                  "how long before its start a flow opens its connection");
    table.AddReal("max-seconds", o.maxSeconds, 1e-6, kMaxSeconds,
                  "simulated time at which unfinished flows are given up");
}

void AddQueueOptions(OptionTable& table, QueueLengthOptions& o) {
    table.AddCount("senders", o.flows, 1, "long-lived flows, each from its own sender");
    table.AddChoice<bool>("receivers", o.singleReceiver, {{"each", false}, {"one", true}},
                          "a receiver for each flow, or one for all");
    table.AddReal("start-spacing-us", o.startSpacingUs, 0, kMaxUs, "time between flow starts");
    table.AddReal("warm-up-s", o.warmUpSeconds, 0, kMaxSeconds, "time before the first sample");
    table.AddReal("duration-s", o.durationSeconds, 1e-6, kMaxSeconds, "time that is sampled");
    table.AddReal("sample-us", o.sampleUs, 1e-3, kMaxUs, "time between samples");
}

/// Fills in what depends on other options and rejects contradictions.
void Resolve(Options& o) {
    TopologyOptions& topology = o.topology;
    if (o.mode == Mode::QueueLength) {
        topology.shape = Shape::Dumbbell;
        topology.hostsPerLeaf = o.queue.flows;
    } else if (o.completion.flowFile.empty() || o.completion.outputFile.empty()) {
        throw UserError("fct: --flows=FILE and --output=FILE are required");
    }
    if (topology.shape != Shape::LeafSpine) {
        topology.leaves = topology.shape == Shape::Dumbbell ? 2 : 1;
        topology.spines = 0;
    }
    if (topology.coreRate == 0) {
        topology.coreRate =
            topology.shape == Shape::LeafSpine ? 40'000'000'000 : topology.hostRate;
    }
    if (uint64_t(topology.leaves) * topology.hostsPerLeaf > 1u << 20) {
        throw UserError("more than 1048576 hosts");
    }
    PortOptions& ports = o.ports;
    if (ports.coreMarkThreshold == 0) {
        ports.coreMarkThreshold = ports.markThreshold;
    }
    if (ports.hostBuffer == 0) {
        ports.hostBuffer = ports.buffer;
    }
    if (ports.coreMarkThreshold < 3) {
        throw UserError("--core-mark-threshold: expected 0 or at least 3");
    }
    if (ports.hostBuffer < 4) {
        throw UserError("--host-buffer: expected 0 or at least 4");
    }
    if (o.transport.mss > 65000) {
        throw UserError("--mss: expected at most 65000");
    }
    if (o.transport.socketBuffer > 1u << 30) {
        throw UserError("--socket-buffer: expected at most 1073741824, what windows can announce");
    }
}

constexpr char kUsage[] =
    "usage: fabric fct --flows=FILE --output=FILE [--name=value ...]\n"
    "       fabric queue [--name=value ...]\n"
    "\n"
    "fct    runs every flow of a list as one DCTCP connection and writes completion times\n"
    "queue  runs long-lived DCTCP flows over a dumbbell and samples the bottleneck queue\n"
    "\n"
    "Both print one JSON document. Options, with their defaults:\n";

}  // namespace

Options ParseOptions(int argc, char** argv) {
    Options options;
    OptionTable table;
    AddTopologyOptions(table, options.topology);
    AddPortOptions(table, options.ports);
    AddTransportOptions(table, options.transport);
    const std::string mode = argc > 1 ? argv[1] : "--help";
    if (mode != "queue") {
        AddCompletionOptions(table, options.completion);
    }
    if (mode != "fct") {
        AddQueueOptions(table, options.queue);
    }
    table.AddChoice<std::string>("scheduler", options.scheduler,
                                 {{"map", "map"},
                                  {"heap", "heap"},
                                  {"calendar", "calendar"},
                                  {"priority-queue", "priority-queue"}},
                                 "event queue of the simulator; changes speed, not results");
    if (mode == "--help" || (argc > 2 && std::string(argv[2]) == "--help")) {
        std::cout << kUsage;
        table.PrintHelp();
        std::exit(0);
    }
    if (mode != "fct" && mode != "queue") {
        throw UserError("'" + mode + "': expected fct or queue as the first argument");
    }
    options.mode = mode == "fct" ? Mode::FlowCompletion : Mode::QueueLength;
    for (int i = 2; i < argc; ++i) {
        table.Apply(argv[i]);
    }
    Resolve(options);
    options.values = table.Values();
    return options;
}

}  // namespace fabric
