#include "flow_list.h"

#include "options.h"
#include "routing.h"

#include <charconv>
#include <fstream>

namespace fabric {
namespace {

constexpr char kHeader[] = "src,dst,size_bytes,start_ns";
// ns-3 compares 32-bit sequence numbers with ones remembered from the start of the connection.
constexpr uint64_t kMaxBytes = (1ull << 31) - 1;
constexpr uint64_t kMaxStartNs = 1'000'000'000'000'000;  // simulated time is 64 bits of picoseconds

/// One line of the file, taken field by field.
class Row {
  public:
    Row(const std::string& path, size_t line, const std::string& text)
        : m_path(path), m_line(line), m_text(text) {}

    uint64_t Next(const char* name, uint64_t min, uint64_t max) {
        if (m_next > m_text.size()) {
            Fail("expected the four fields " + std::string(kHeader));
        }
        const size_t end = std::min(m_text.find(',', m_next), m_text.size());
        const std::string field = m_text.substr(m_next, end - m_next);
        m_next = end + 1;
        uint64_t value = 0;
        const auto [rest, error] =
            std::from_chars(field.data(), field.data() + field.size(), value);
        if (error != std::errc() || rest != field.data() + field.size() || value < min ||
            value > max) {
            Fail(std::string(name) + " is '" + field + "', expected a whole number from " +
                 std::to_string(min) + " to " + std::to_string(max));
        }
        return value;
    }

    void ExpectEnd() const {
        if (m_next <= m_text.size()) {
            Fail("more than the four fields " + std::string(kHeader));
        }
    }

    [[noreturn]] void Fail(const std::string& what) const {
        throw UserError(m_path + ":" + std::to_string(m_line) + ": " + what);
    }

  private:
    const std::string& m_path;
    const size_t m_line;
    const std::string& m_text;
    size_t m_next = 0;
};

Flow ParseFlow(Row& row, uint32_t id, uint32_t hostCount) {
    Flow flow{};
    flow.id = id;
    flow.source = row.Next("src", 0, hostCount - 1);
    flow.destination = row.Next("dst", 0, hostCount - 1);
    flow.bytes = row.Next("size_bytes", 1, kMaxBytes);
    flow.startNs = row.Next("start_ns", 0, kMaxStartNs);
    row.ExpectEnd();
    if (flow.source == flow.destination) {
        row.Fail("src and dst are both host " + std::to_string(flow.source));
    }
    return flow;
}

/// Reads a line without its line end, LF or CR LF.
bool ReadLine(std::ifstream& file, std::string& text) {
    if (!std::getline(file, text)) {
        return false;
    }
    if (!text.empty() && text.back() == '\r') {
        text.pop_back();
    }
    return true;
}

}  // namespace

std::vector<Flow> ReadFlowList(const std::string& path, uint32_t hostCount) {
    std::ifstream file(path);
    if (!file) {
        throw UserError(path + ": cannot be read");
    }
    std::string text;
    if (!ReadLine(file, text) || text != kHeader) {
        throw UserError(path + ":1: the header is '" + text + "', expected '" + kHeader + "'");
    }
    std::vector<Flow> flows;
    for (size_t line = 2; ReadLine(file, text); ++line) {
        Row row(path, line, text);
        if (flows.size() == kMaxFlows) {
            row.Fail("more than " + std::to_string(kMaxFlows) + " flows");
        }
        flows.push_back(ParseFlow(row, flows.size(), hostCount));
    }
    if (flows.empty()) {
        throw UserError(path + ": no flows below the header");
    }
    return flows;
}

}  // namespace fabric
