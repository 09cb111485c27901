#include "network.h"

#include "routing.h"
#include "units.h"

#include <ns3/data-rate.h>
#include <ns3/double.h>
#include <ns3/drop-tail-queue.h>
#include <ns3/internet-stack-helper.h>
#include <ns3/ipv4-static-routing-helper.h>
#include <ns3/ipv4.h>
#include <ns3/point-to-point-helper.h>
#include <ns3/traffic-control-helper.h>

using namespace ns3;

namespace fabric {
namespace {

constexpr uint32_t kPppBytes = 2;          // framing of ns-3's point-to-point devices
constexpr uint32_t kMaxHeaderBytes = 120;  // IP and TCP with all options: nothing is fragmented

std::vector<Ptr<Node>> CreateNodes(uint32_t count) {
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.SetRoutingHelper(Ipv4StaticRoutingHelper());  // replaced by arithmetic routes below
    std::vector<Ptr<Node>> nodes;
    for (uint32_t i = 0; i < count; ++i) {
        nodes.push_back(CreateObject<Node>());
        stack.Install(nodes.back());
    }
    return nodes;
}

void BringUp(Ptr<NetDevice> device) {
    Ptr<Ipv4> ipv4 = device->GetNode()->GetObject<Ipv4>();
    ipv4->SetUp(ipv4->AddInterface(device));
}

Devices DevicesOf(const std::vector<EgressPort>& ports) {
    Devices devices;
    for (const EgressPort& port : ports) {
        devices.push_back(port.device);
    }
    return devices;
}

}  // namespace

uint32_t EgressPort::WaitingPackets() const {
    return queueDisc->GetNPackets() + device->GetQueue()->GetNPackets();
}

uint64_t EgressPort::WaitingBytes() const {
    const auto queue = device->GetQueue();
    return queueDisc->GetNBytes() + queue->GetNBytes() - kPppBytes * queue->GetNPackets();
}

uint64_t EgressPort::SentPackets() const {
    return queueDisc->GetStats().nTotalSentPackets - device->GetQueue()->GetNPackets();
}

uint64_t EgressPort::SentBytes() const {
    const auto queue = device->GetQueue();
    const uint64_t waiting = queue->GetNBytes() - kPppBytes * queue->GetNPackets();
    return queueDisc->GetStats().nTotalSentBytes - waiting;
}

Network::Network(const TopologyOptions& topology, const PortOptions& ports, uint32_t wireBytes)
    : m_topology(topology),
      m_wireBytes(wireBytes),
      m_hosts(CreateNodes(topology.HostCount())),
      m_leaves(CreateNodes(topology.leaves)),
      m_spines(CreateNodes(topology.spines)),
      m_leafDown(topology.leaves),
      m_leafUp(topology.leaves),
      m_spineDown(topology.spines) {
    AddHosts(ports);
    AddCore(ports);
    InstallRoutes();
}

void Network::AddHosts(const PortOptions& options) {
    const QueueUnit unit = options.queueUnit;
    const QueueOptions host{unit, options.hostMarking, options.markThreshold, options.hostBuffer};
    const QueueOptions leaf{unit, true, options.markThreshold, options.buffer};
    const LinkOptions link{m_topology.hostRate, m_topology.hostDelayNs, host, leaf};
    for (uint32_t h = 0; h < m_hosts.size(); ++h) {
        const uint32_t below = h / m_topology.hostsPerLeaf;
        const auto [up, down] = Connect(m_hosts[h], m_leaves[below], link);
        m_hostUp.push_back(up);
        m_leafDown[below].push_back(down);
    }
}

void Network::AddCore(const PortOptions& options) {
    const QueueOptions queue{options.queueUnit, true, options.coreMarkThreshold, options.buffer};
    const LinkOptions link{m_topology.coreRate, m_topology.coreDelayNs, queue, queue};
    if (m_topology.shape == Shape::Dumbbell) {
        const auto [left, right] = Connect(m_leaves[0], m_leaves[1], link);
        m_leafUp[0].push_back(left);
        m_leafUp[1].push_back(right);
    }
    for (uint32_t leaf = 0; leaf < m_leaves.size(); ++leaf) {
        for (uint32_t spine = 0; spine < m_spines.size(); ++spine) {
            const auto [up, down] = Connect(m_leaves[leaf], m_spines[spine], link);
            m_leafUp[leaf].push_back(up);
            m_spineDown[spine].push_back(down);
        }
    }
}

void Network::InstallRoutes() const {
    const uint32_t hostsPerLeaf = m_topology.hostsPerLeaf;
    for (uint32_t h = 0; h < m_hosts.size(); ++h) {
        Ptr<Ipv4> ipv4 = m_hosts[h]->GetObject<Ipv4>();
        ipv4->AddAddress(1, Ipv4InterfaceAddress(AddressOfHost(h), Ipv4Mask("255.0.0.0")));
        ipv4->SetRoutingProtocol(CreateObject<HostRouting>(h, m_hostUp[h].device));
    }
    const auto install = [this](Ptr<Node> node, const SwitchPosition& position, const Devices& down,
                                const Devices& up) {
        node->GetObject<Ipv4>()->SetRoutingProtocol(
            CreateObject<SwitchRouting>(position, m_topology.loadBalancing, down, up));
    };
    for (uint32_t leaf = 0; leaf < m_leaves.size(); ++leaf) {
        install(m_leaves[leaf], {leaf * hostsPerLeaf, 1, hostsPerLeaf},
                DevicesOf(m_leafDown[leaf]), DevicesOf(m_leafUp[leaf]));
    }
    for (uint32_t spine = 0; spine < m_spines.size(); ++spine) {
        install(m_spines[spine], {0, hostsPerLeaf, hostsPerLeaf},
                DevicesOf(m_spineDown[spine]), {});
    }
}

std::pair<EgressPort, EgressPort> Network::Connect(Ptr<Node> near, Ptr<Node> far,
                                                   const LinkOptions& link) {
    // The device adds a 2-byte PPP header. A negative gap after each frame and an equally shorter
    // propagation delay take its transmission time back, so that timing is that of IP packets.
    const Time framing = Picoseconds(kPppBytes * 8e12 / link.rate);
    PointToPointHelper helper;
    helper.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(QueueSize("1p")));
    helper.SetDeviceAttribute("DataRate", DataRateValue(DataRate(link.rate)));
    helper.SetDeviceAttribute("InterframeGap", TimeValue(Time() - framing));
    helper.SetDeviceAttribute("Mtu", UintegerValue(m_wireBytes + kMaxHeaderBytes));
    helper.SetChannelAttribute("Delay", TimeValue(Nanoseconds(link.delayNs) - framing));
    const NetDeviceContainer devices = helper.Install(near, far);
    const EgressPort nearPort = InstallPort(devices.Get(0), link.nearQueue);
    const EgressPort farPort = InstallPort(devices.Get(1), link.farQueue);
    return {nearPort, farPort};
}

EgressPort Network::InstallPort(Ptr<NetDevice> device, const QueueOptions& queue) {
    BringUp(device);
    TrafficControlHelper control;
    // The device holds one waiting packet below the queue disc; it counts towards the buffer.
    const bool counts = queue.unit == QueueUnit::Packets;
    const QueueSizeValue capacity(
        counts ? QueueSize(QueueSizeUnit::PACKETS, queue.buffer - 1)
               : QueueSize(QueueSizeUnit::BYTES, (queue.buffer - 1) * m_wireBytes));
    if (queue.marking) {
        // RED as a step on the instantaneous length. It looks at the queue disc before the
        // arrival; the length meant includes the arrival and the packet in the device. Among full
        // packets "more than K waiting" is therefore "at least K - 1 in the queue disc"; one byte
        // above K - 2 says the same and also holds for a short arrival.
        const DoubleValue threshold(counts ? queue.markThreshold - 1
                                           : (queue.markThreshold - 2) * m_wireBytes + 1);
        control.SetRootQueueDisc("ns3::RedQueueDisc", "MaxSize", capacity, "MinTh", threshold,
                                 "MaxTh", threshold, "QW", DoubleValue(1), "Gentle",
                                 BooleanValue(false), "UseEcn", BooleanValue(true), "UseHardDrop",
                                 BooleanValue(false));
    } else {
        control.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", capacity);
    }
    m_ports.push_back({DynamicCast<PointToPointNetDevice>(device), control.Install(device).Get(0)});
    return m_ports.back();
}

uint64_t Network::PacketHops() const {
    uint64_t sum = 0;
    for (const EgressPort& port : m_ports) {
        sum += port.SentPackets();
    }
    return sum;
}

uint64_t Network::DroppedPackets() const {
    uint64_t sum = 0;
    for (const EgressPort& port : m_ports) {
        sum += port.queueDisc->GetStats().nTotalDroppedPackets;
    }
    return sum;
}

uint64_t Network::MarkedPackets() const {
    uint64_t sum = 0;
    for (const EgressPort& port : m_ports) {
        sum += port.queueDisc->GetStats().nTotalMarkedPackets;
    }
    return sum;
}

}  // namespace fabric
