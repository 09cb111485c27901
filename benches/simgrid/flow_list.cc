#include "flow_list.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <unordered_map>

namespace tree {
namespace {

std::vector<std::string> Fields(const std::string& line) {
    std::vector<std::string> fields;
    std::istringstream stream(line);
    for (std::string field; std::getline(stream, field, ',');) {
        fields.push_back(field);
    }
    return fields;
}

size_t Column(const std::vector<std::string>& header, const std::string& name) {
    const auto found = std::find(header.begin(), header.end(), name);
    if (found == header.end()) {
        throw std::runtime_error("the flow list has no column " + name);
    }
    return found - header.begin();
}

}  // namespace

std::vector<Task> ReadTasks(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    if (!std::getline(file, line)) {
        throw std::runtime_error(path + " cannot be read, or is empty");
    }
    const auto header = Fields(line);
    const size_t source = Column(header, "src"), destination = Column(header, "dst"),
                 bytes = Column(header, "size_bytes"), start = Column(header, "start_ns"),
                 task = Column(header, "task");
    std::vector<Task> tasks;
    std::unordered_map<std::string, size_t> places;
    while (std::getline(file, line)) {
        const auto fields = Fields(line);
        const auto [place, fresh] = places.try_emplace(fields.at(task), tasks.size());
        const double seconds = std::stod(fields.at(start)) * 1e-9;
        if (fresh) {
            tasks.push_back({seconds, {}});
        } else if (seconds != tasks[place->second].start) {
            throw std::runtime_error("the flows of task " + place->first + " start apart");
        }
        tasks[place->second].flows.push_back(
            {static_cast<unsigned>(std::stoul(fields.at(source))),
             static_cast<unsigned>(std::stoul(fields.at(destination))),
             std::stoull(fields.at(bytes))});
    }
    return tasks;
}

}  // namespace tree
