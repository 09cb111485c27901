// Times from the units of the command line. ns-3's own constructors take whole numbers.
#pragma once

#include <ns3/nstime.h>

#include <cmath>
#include <cstdint>

namespace fabric {

inline ns3::Time Picoseconds(double value) {
    return ns3::PicoSeconds(static_cast<uint64_t>(std::llround(value)));
}

inline ns3::Time Nanoseconds(double value) {
    return Picoseconds(value * 1e3);
}

inline ns3::Time Microseconds(double value) {
    return Picoseconds(value * 1e6);
}

}  // namespace fabric
