// Command line of the ns-3 reference scenario.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fabric {

/// A mistake in the command line or in an input file. Its message is all the user gets to see.
struct UserError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

enum class Mode { FlowCompletion, QueueLength };
enum class Shape { LeafSpine, Dumbbell, Star };
enum class LoadBalancing { Ecmp, Spray };
enum class QueueUnit { Bytes, Packets };

struct TopologyOptions {
    Shape shape = Shape::LeafSpine;
    uint32_t leaves = 9;
    uint32_t spines = 4;
    uint32_t hostsPerLeaf = 16;
    uint64_t hostRate = 10'000'000'000;  // bit/s
    uint64_t coreRate = 0;               // bit/s; 0: 40 Gbps in a leaf-spine, else the host rate
    double hostDelayNs = 20200;
    double coreDelayNs = 200;
    LoadBalancing loadBalancing = LoadBalancing::Ecmp;

    uint32_t HostCount() const { return leaves * hostsPerLeaf; }
};

/// Egress ports. Lengths are in packets of one full wire size (MSS plus headers), or of any size.
struct PortOptions {
    QueueUnit queueUnit = QueueUnit::Bytes;
    uint32_t markThreshold = 65;
    uint32_t coreMarkThreshold = 0;  // 0: as markThreshold
    uint32_t buffer = 240;
    bool hostMarking = true;
    uint32_t hostBuffer = 0;  // 0: as buffer
};

struct TransportOptions {
    uint32_t mss = 1460;
    uint32_t initialWindow = 10;  // segments
    double minRtoUs = 2000;
    uint32_t delayedAckCount = 1;
    double delayedAckTimeoutUs = 500;
    double gain = 1.0 / 16;
    double initialAlpha = 1;
    uint32_t minWindow = 2;   // floor of the window after a cut, segments; 0: none
    bool halveOnLoss = true;  // else cut by alpha, as at a mark
    bool wholeGrowth = true;   // else by fractions of segments
    bool rateReduction = false;  // proportional rate reduction in place of an immediate cut
    bool sack = true;
    uint32_t reorderingThreshold = 3;  // duplicate ACKs
    bool timestamps = false;
    uint32_t socketBuffer = 64u << 20;  // bytes
    double clockGranularityUs = 1;

    /// Bytes of a full data packet on the wire: IP and TCP headers, plus the timestamp option.
    uint32_t WireBytes() const { return mss + 40 + (timestamps ? 12 : 0); }
};

struct FlowCompletionOptions {
    std::string flowFile;
    std::string outputFile;
    double connectLeadUs = 2000;  // how long before its start a flow's handshake begins
    double maxSeconds = 60;
};

struct QueueLengthOptions {
    uint32_t flows = 2;
    bool singleReceiver = false;
    double startSpacingUs = 0;
    double warmUpSeconds = 0.1;
    double durationSeconds = 0.5;
    double sampleUs = 10;
};

struct Options {
    Mode mode = Mode::FlowCompletion;
    TopologyOptions topology;
    PortOptions ports;
    TransportOptions transport;
    FlowCompletionOptions completion;
    QueueLengthOptions queue;
    std::string scheduler = "map";

    /// Every option with its final value, as given back in the report.
    std::vector<std::pair<std::string, std::string>> values;
};

/// Reads the command line; throws UserError. Prints the help text and exits on --help.
Options ParseOptions(int argc, char** argv);

}  // namespace fabric
