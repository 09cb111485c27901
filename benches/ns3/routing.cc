#include "routing.h"

#include <ns3/ipv4.h>
#include <ns3/net-device.h>
#include <ns3/packet.h>

using namespace ns3;

namespace fabric {
namespace {

constexpr uint32_t kFirstAddress = 0x0A000001;  // 10.0.0.1
constexpr uint16_t kFirstSenderPort = 1024;     // lower ports are receivers'

uint64_t SplitMix64(uint64_t x) {
    uint64_t z = x + 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
}

/// The uplink of a flow, uniform over `count`: Tailrace's, so that flows take the same paths.
uint32_t HashUplink(uint32_t flow, uint32_t count) {
    const uint64_t hash = SplitMix64(uint64_t(flow) | uint64_t(count) << 32);
    return static_cast<uint32_t>((hash >> 32) * count >> 32);
}

uint32_t FlowOfPacket(const Packet& packet) {
    uint8_t ports[4];  // a TCP header begins with source and destination port
    packet.CopyData(ports, sizeof ports);
    return FlowOfPorts(ports[0] << 8 | ports[1], ports[2] << 8 | ports[3]);
}

/// A route through a device. Point-to-point links need no next-hop address, but Ipv4L3Protocol
/// insists on one.
Ptr<Ipv4Route> RouteThrough(Ptr<NetDevice> device, Ipv4Address source) {
    Ptr<Ipv4Route> route = Create<Ipv4Route>();
    route->SetSource(source);
    route->SetGateway(Ipv4Address("192.0.2.1"));
    route->SetOutputDevice(device);
    return route;
}

std::vector<Ptr<Ipv4Route>> RoutesThrough(const Devices& devices) {
    std::vector<Ptr<Ipv4Route>> routes;
    for (const Ptr<NetDevice>& device : devices) {
        routes.push_back(RouteThrough(device, Ipv4Address::GetAny()));
    }
    return routes;
}

}  // namespace

Ipv4Address AddressOfHost(uint32_t host) {
    return Ipv4Address(kFirstAddress + host);
}

uint32_t HostOfAddress(Ipv4Address address) {
    return address.Get() - kFirstAddress;
}

FlowPorts PortsOfFlow(uint32_t flow) {
    return {static_cast<uint16_t>(kFirstSenderPort + flow % kFlowsPerReceiverPort),
            static_cast<uint16_t>(1 + flow / kFlowsPerReceiverPort)};
}

uint32_t FlowOfPorts(uint16_t source, uint16_t destination) {
    const uint16_t sender = std::max(source, destination);
    const uint16_t receiver = std::min(source, destination);
    return (receiver - 1) * kFlowsPerReceiverPort + (sender - kFirstSenderPort);
}

void ArithmeticRouting::DoDispose() {
    m_ipv4 = nullptr;
    Ipv4RoutingProtocol::DoDispose();
}

HostRouting::HostRouting(uint32_t host, Ptr<NetDevice> device)
    : m_address(AddressOfHost(host)), m_route(RouteThrough(device, m_address)) {}

Ptr<Ipv4Route> HostRouting::RouteOutput(Ptr<Packet>, const Ipv4Header&, Ptr<NetDevice>,
                                        Socket::SocketErrno& error) {
    error = Socket::ERROR_NOTERROR;
    return m_route;
}

bool HostRouting::RouteInput(Ptr<const Packet> packet, const Ipv4Header& header,
                             Ptr<const NetDevice> device, UnicastForwardCallback,
                             MulticastForwardCallback, LocalDeliverCallback deliver,
                             ErrorCallback) {
    if (header.GetDestination() != m_address) {
        return false;
    }
    deliver(packet, header, m_ipv4->GetInterfaceForDevice(device));
    return true;
}

SwitchRouting::SwitchRouting(const SwitchPosition& position, LoadBalancing loadBalancing,
                             const Devices& down, const Devices& up)
    : m_position(position),
      m_loadBalancing(loadBalancing),
      m_down(RoutesThrough(down)),
      m_up(RoutesThrough(up)) {}

Ptr<Ipv4Route> SwitchRouting::RouteOutput(Ptr<Packet>, const Ipv4Header&, Ptr<NetDevice>,
                                          Socket::SocketErrno& error) {
    error = Socket::ERROR_NOROUTETOHOST;  // switches send nothing of their own
    return nullptr;
}

bool SwitchRouting::RouteInput(Ptr<const Packet> packet, const Ipv4Header& header,
                               Ptr<const NetDevice>, UnicastForwardCallback forward,
                               MulticastForwardCallback, LocalDeliverCallback, ErrorCallback) {
    const uint32_t destination = HostOfAddress(header.GetDestination());
    // Hosts before the first one below this switch wrap around and lie beyond the last port.
    const uint32_t port = (destination - m_position.firstHost) / m_position.hostsPerPort;
    if (port < m_down.size()) {
        forward(m_down[port], packet, header);
        return true;
    }
    if (m_up.empty()) {
        return false;
    }
    forward(m_up[ChooseUplink(*packet, destination)], packet, header);
    return true;
}

uint32_t SwitchRouting::ChooseUplink(const Packet& packet, uint32_t destination) {
    const uint32_t count = m_up.size();
    if (m_loadBalancing == LoadBalancing::Ecmp) {
        return HashUplink(FlowOfPacket(packet), count);
    }
    const uint32_t leaf = destination / m_position.hostsPerLeaf;
    if (leaf >= m_nextUplink.size()) {
        m_nextUplink.resize(leaf + 1);
    }
    return m_nextUplink[leaf]++ % count;
}

}  // namespace fabric
