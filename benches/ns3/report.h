// The JSON document on standard output, and what every run measures of itself.
#pragma once

#include "connections.h"
#include "network.h"
#include "options.h"

#include <sstream>
#include <string>
#include <vector>

namespace fabric {

/// A JSON object, written field by field.
class JsonObject {
  public:
    JsonObject();

    void Add(const std::string& name, const std::string& value);
    void Add(const std::string& name, uint64_t value);
    void Add(const std::string& name, double value);
    void Add(const std::string& name, const std::vector<double>& values);
    void Add(const std::string& name, const JsonObject& value);

    std::string Text() const;

  private:
    std::ostream& Name(const std::string& name);

    std::ostringstream m_text;
    bool m_empty = true;
};

/// Time spent inside Simulator::Run.
struct RunTime {
    double cpuSeconds;
    double wallSeconds;
};

RunTime RunSimulation();

/// The fields common to both modes.
void AddRun(JsonObject& report, const Options& options, const RunTime& time,
            const Network& network, const SenderCounts& counts);

}  // namespace fabric
