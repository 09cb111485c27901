#include "connections.h"

#include "dctcp.h"
#include "routing.h"
#include "units.h"

#include <ns3/boolean.h>
#include <ns3/config.h>
#include <ns3/double.h>
#include <ns3/inet-socket-address.h>
#include <ns3/simulator.h>
#include <ns3/tcp-prr-recovery.h>
#include <ns3/tcp-recovery-ops.h>
#include <ns3/tcp-socket-factory.h>
#include <ns3/tcp-tx-buffer.h>
#include <ns3/uinteger.h>

#include <algorithm>
#include <numeric>

using namespace ns3;

namespace fabric {
namespace {

/// Reaches the protected CloseAndNotify, which removes a socket and its timers without sending.
struct TcpRemoval : TcpSocketBase {
    static void Remove(TcpSocketBase& socket) { (socket.*(&TcpRemoval::CloseAndNotify))(); }
};

}  // namespace

void ConfigureTcp(const TransportOptions& o) {
    const auto socket = [](const std::string& name, const AttributeValue& value) {
        Config::SetDefault("ns3::TcpSocket::" + name, value);
    };
    const auto base = [](const std::string& name, const AttributeValue& value) {
        Config::SetDefault("ns3::TcpSocketBase::" + name, value);
    };
    socket("SegmentSize", UintegerValue(o.mss));
    socket("InitialCwnd", UintegerValue(o.initialWindow));
    socket("SndBufSize", UintegerValue(o.socketBuffer));
    socket("RcvBufSize", UintegerValue(o.socketBuffer));
    socket("DelAckCount", UintegerValue(o.delayedAckCount));
    socket("DelAckTimeout", TimeValue(Microseconds(o.delayedAckTimeoutUs)));
    socket("TcpNoDelay", BooleanValue(true));
    socket("ConnTimeout", TimeValue(Microseconds(o.minRtoUs)));
    // Never give up: six timeouts in a row, where ns-3 would, are not rare under incast.
    socket("ConnCount", UintegerValue(20));
    socket("DataRetries", UintegerValue(1000));
    base("MinRto", TimeValue(Microseconds(o.minRtoUs)));
    base("ClockGranularity", TimeValue(Microseconds(o.clockGranularityUs)));
    base("Timestamp", BooleanValue(o.timestamps));
    base("WindowScaling", BooleanValue(true));
    base("Sack", BooleanValue(o.sack));
    base("ReTxThreshold", UintegerValue(o.reorderingThreshold));
    Config::SetDefault("ns3::TcpDctcp::DctcpShiftG", DoubleValue(o.gain));
    Config::SetDefault("ns3::TcpDctcp::DctcpAlphaOnInit", DoubleValue(o.initialAlpha));
    Config::SetDefault("fabric::Dctcp::MinWindow", UintegerValue(o.minWindow));
    Config::SetDefault("fabric::Dctcp::HalveOnLoss", BooleanValue(o.halveOnLoss));
    Config::SetDefault("fabric::Dctcp::WholeSegments", BooleanValue(o.wholeGrowth));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(Dctcp::GetTypeId()));
    const TypeId recovery =
        o.rateReduction ? TcpPrrRecovery::GetTypeId() : TcpClassicRecovery::GetTypeId();
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(recovery));
}

Connection::Connection(const Flow& flow, Network& network, const TransportOptions& options,
                       SenderCounts& counts)
    : m_flow(flow),
      m_network(network),
      m_options(options),
      m_counts(counts),
      m_unwritten(flow.bytes) {}

void Connection::Open() {
    const FlowPorts ports = PortsOfFlow(m_flow.id);
    m_sender = DynamicCast<TcpSocketBase>(
        Socket::CreateSocket(m_network.Host(m_flow.source), TcpSocketFactory::GetTypeId()));
    m_sender->SetSendCallback(MakeCallback(&Connection::FillSendBuffer, this));
    m_sender->TraceConnectWithoutContext("CongState",
                                         MakeCallback(&Connection::CountCongestionState, this));
    m_sender->TraceConnectWithoutContext("Tx", MakeCallback(&Connection::CountSegment, this));
    if (m_sender->Bind(InetSocketAddress(Ipv4Address::GetAny(), ports.sender)) != 0) {
        throw UserError("flow " + std::to_string(m_flow.id) + ": host " +
                        std::to_string(m_flow.source) + " still runs a flow whose id differs by " +
                        "a multiple of " + std::to_string(kFlowsPerReceiverPort));
    }
    m_sender->Connect(InetSocketAddress(AddressOfHost(m_flow.destination), ports.receiver));
}

void Connection::StartSending() {
    m_started = true;
    m_counts.lateHandshakes += m_receiver == nullptr;
    FillSendBuffer(m_sender, m_sender->GetTxAvailable());
}

void Connection::FillSendBuffer(Ptr<Socket>, uint32_t space) {
    if (!m_started) {
        return;
    }
    // Refill by halves of the buffer and by whole segments: the socket would send the odd bytes
    // at the end of each write as a short segment.
    const uint32_t half = m_options.socketBuffer / 2;
    const uint32_t whole = space - space % m_options.mss;
    if (m_unwritten > 0 && space >= std::min<uint64_t>(m_unwritten, half)) {
        const uint32_t bytes = m_unwritten <= space ? m_unwritten : whole;
        m_unwritten -= m_unwritten == kUnbounded ? 0 : bytes;
        m_sender->Send(Create<Packet>(bytes), 0);
    }
    if (m_unwritten == 0 && !m_acknowledged && m_sender->GetTxBuffer()->Size() == 0) {
        m_acknowledged = true;
        onAcknowledged();
    }
}

void Connection::Accept(Ptr<Socket> receiver) {
    m_receiver = DynamicCast<TcpSocketBase>(receiver);
    m_receiver->SetRecvCallback(MakeCallback(&Connection::Receive, this));
    // The SYN-ACK announced an unscaled window, which a large first window would exceed. A change
    // of the buffer announces the scaled one, in a packet of its own.
    if (uint64_t(m_options.initialWindow) * m_options.mss > UINT16_MAX) {
        m_receiver->SetAttribute("RcvBufSize", UintegerValue(m_options.socketBuffer + 1));
    }
}

void Connection::Receive(Ptr<Socket> socket) {
    while (Ptr<Packet> packet = socket->Recv()) {
        m_received += packet->GetSize();
    }
    if (m_received >= m_flow.bytes && !m_completedAt) {
        m_completedAt = Simulator::Now();
    }
}

void Connection::TearDown() {
    TcpRemoval::Remove(*m_sender);
    TcpRemoval::Remove(*m_receiver);
    m_sender = nullptr;
    m_receiver = nullptr;
}

void Connection::CountCongestionState(TcpSocketState::TcpCongState_t,
                                      TcpSocketState::TcpCongState_t to) {
    m_counts.ecnWindowCuts += to == TcpSocketState::CA_CWR;
    m_counts.fastRecoveries += to == TcpSocketState::CA_RECOVERY;
    m_counts.timeouts += to == TcpSocketState::CA_LOSS;
}

void Connection::CountSegment(Ptr<const Packet> payload, const TcpHeader& header,
                              Ptr<const TcpSocketBase>) {
    if (payload->GetSize() == 0) {
        return;
    }
    const SequenceNumber32 end = header.GetSequenceNumber() + payload->GetSize();
    if (end <= m_highestSent) {
        ++m_counts.retransmittedSegments;
    } else {
        m_highestSent = end;
    }
}

ConnectionSet::ConnectionSet(const std::vector<Flow>& flows, Network& network,
                             const TransportOptions& options, Time lead)
    : m_network(network),
      m_lead(lead),
      m_linger(Microseconds(options.minRtoUs)),
      m_order(flows.size()) {
    for (const Flow& flow : flows) {
        m_connections.push_back(std::make_unique<Connection>(flow, network, options, m_counts));
    }
    std::iota(m_order.begin(), m_order.end(), 0);
    std::stable_sort(m_order.begin(), m_order.end(), [&flows](uint32_t a, uint32_t b) {
        return flows[a].startNs < flows[b].startNs;
    });
}

void ConnectionSet::Start() {
    const Flow& first = m_connections[m_order[0]]->GetFlow();
    Simulator::Schedule(NanoSeconds(first.startNs), &ConnectionSet::OpenDue, this);
}

void ConnectionSet::OpenDue() {
    while (m_nextToOpen < m_order.size()) {
        Connection& connection = *m_connections[m_order[m_nextToOpen]];
        const Time wait = NanoSeconds(connection.GetFlow().startNs) - Simulator::Now();
        if (wait.IsStrictlyPositive()) {
            Simulator::Schedule(wait, &ConnectionSet::OpenDue, this);
            return;
        }
        ++m_nextToOpen;
        Open(connection);
    }
}

void ConnectionSet::Open(Connection& connection) {
    Listen(connection.GetFlow());
    connection.onAcknowledged = [this, &connection] { OnAcknowledged(connection); };
    connection.Open();
    Simulator::Schedule(m_lead, &Connection::StartSending, &connection);
}

void ConnectionSet::Listen(const Flow& flow) {
    const uint16_t port = PortsOfFlow(flow.id).receiver;
    if (!m_listening.insert({flow.destination, port}).second) {
        return;
    }
    Ptr<Socket> listener = Socket::CreateSocket(m_network.Host(flow.destination),
                                                TcpSocketFactory::GetTypeId());
    listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
    listener->Listen();
    listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                MakeCallback(&ConnectionSet::OnAccept, this));
}

void ConnectionSet::OnAccept(Ptr<Socket> socket, const Address& from) {
    Address local;
    socket->GetSockName(local);
    const uint32_t flow = FlowOfPorts(InetSocketAddress::ConvertFrom(from).GetPort(),
                                      InetSocketAddress::ConvertFrom(local).GetPort());
    m_connections[flow]->Accept(socket);
}

void ConnectionSet::OnAcknowledged(Connection& connection) {
    // Packets still under way, such as duplicates of retransmitted data, find their sockets for a
    // while; they would be answered by resets otherwise.
    Simulator::Schedule(m_linger, [this, &connection] {
        connection.TearDown();
        if (++m_tornDown == m_connections.size()) {
            Simulator::Stop();
        }
    });
}

std::optional<Time> ConnectionSet::CompletionTime(const Connection& connection) const {
    if (!connection.CompletedAt()) {
        return std::nullopt;
    }
    return *connection.CompletedAt() - m_lead - NanoSeconds(connection.GetFlow().startNs);
}

}  // namespace fabric
