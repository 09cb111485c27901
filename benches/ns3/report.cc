#include "report.h"

#include <ns3/simulator.h>

#include <chrono>
#include <cstdio>
#include <ctime>

#ifndef NS3_VERSION
#define NS3_VERSION "unknown"
#endif

namespace fabric {
namespace {

double ProcessCpuSeconds() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

std::string Quoted(const std::string& text) {
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            quoted += '\\';
        }
        if (static_cast<unsigned char>(c) < 0x20) {
            char escape[7];
            std::snprintf(escape, sizeof escape, "\\u%04x", c);
            quoted += escape;
        } else {
            quoted += c;
        }
    }
    return quoted + '"';
}

}  // namespace

JsonObject::JsonObject() {
    m_text.precision(10);
}

std::ostream& JsonObject::Name(const std::string& name) {
    m_text << (m_empty ? "" : ", ") << Quoted(name) << ": ";
    m_empty = false;
    return m_text;
}

void JsonObject::Add(const std::string& name, const std::string& value) {
    Name(name) << Quoted(value);
}

void JsonObject::Add(const std::string& name, uint64_t value) {
    Name(name) << value;
}

void JsonObject::Add(const std::string& name, double value) {
    Name(name) << value;
}

void JsonObject::Add(const std::string& name, const std::vector<double>& values) {
    Name(name) << '[';
    for (size_t i = 0; i < values.size(); ++i) {
        m_text << (i ? ", " : "") << values[i];
    }
    m_text << ']';
}

void JsonObject::Add(const std::string& name, const JsonObject& value) {
    Name(name) << value.Text();
}

std::string JsonObject::Text() const {
    return "{" + m_text.str() + "}";
}

RunTime RunSimulation() {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point wallStart = Clock::now();
    const double cpuStart = ProcessCpuSeconds();
    ns3::Simulator::Run();
    const double cpu = ProcessCpuSeconds() - cpuStart;
    return {cpu, std::chrono::duration<double>(Clock::now() - wallStart).count()};
}

void AddRun(JsonObject& report, const Options& options, const RunTime& time,
            const Network& network, const SenderCounts& counts) {
    const uint64_t hops = network.PacketHops();
    report.Add("cpu_seconds", time.cpuSeconds);
    report.Add("wall_seconds", time.wallSeconds);
    report.Add("simulated_seconds", ns3::Simulator::Now().GetSeconds());
    report.Add("events", ns3::Simulator::GetEventCount());
    report.Add("packet_hops", hops);
    report.Add("packet_hops_per_cpu_second", hops / time.cpuSeconds);
    report.Add("marked_packets", network.MarkedPackets());
    report.Add("dropped_packets", network.DroppedPackets());
    report.Add("retransmitted_segments", counts.retransmittedSegments);
    report.Add("fast_recoveries", counts.fastRecoveries);
    report.Add("timeouts", counts.timeouts);
    report.Add("ecn_window_cuts", counts.ecnWindowCuts);
    report.Add("late_handshakes", counts.lateHandshakes);
    report.Add("ns3_version", std::string(NS3_VERSION));
    JsonObject values;
    for (const auto& [name, value] : options.values) {
        values.Add(name, value);
    }
    report.Add("options", values);
}

}  // namespace fabric
