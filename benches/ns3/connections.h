// Flows as TCP connections: one DCTCP connection each, opened ahead of the flow's start.
#pragma once

#include "flow_list.h"
#include "network.h"
#include "options.h"

#include <ns3/nstime.h>
#include <ns3/tcp-header.h>
#include <ns3/tcp-socket-base.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace fabric {

/// Sets the defaults of every TCP socket created from now on.
void ConfigureTcp(const TransportOptions& options);

/// What happened to the senders, summed over connections.
struct SenderCounts {
    uint64_t retransmittedSegments = 0;
    uint64_t fastRecoveries = 0;
    uint64_t timeouts = 0;  // consecutive timeouts of one segment count once
    uint64_t ecnWindowCuts = 0;
    uint64_t lateHandshakes = 0;  // connections that were not open yet when their flow started
};

/// One flow and its TCP connection.
class Connection {
  public:
    Connection(const Flow& flow, Network& network, const TransportOptions& options,
               SenderCounts& counts);

    /// Called once when the sender has seen every byte acknowledged.
    std::function<void()> onAcknowledged;

    void Open();
    void StartSending();
    /// The receiving end, once the handshake has created it.
    void Accept(ns3::Ptr<ns3::Socket> receiver);
    /// Removes both ends at once, without a FIN exchange.
    void TearDown();

    const Flow& GetFlow() const { return m_flow; }
    uint64_t ReceivedBytes() const { return m_received; }
    /// When the last byte reached the receiving application.
    std::optional<ns3::Time> CompletedAt() const { return m_completedAt; }

  private:
    void FillSendBuffer(ns3::Ptr<ns3::Socket>, uint32_t space);
    void Receive(ns3::Ptr<ns3::Socket> socket);
    void CountCongestionState(ns3::TcpSocketState::TcpCongState_t from,
                              ns3::TcpSocketState::TcpCongState_t to);
    void CountSegment(ns3::Ptr<const ns3::Packet> payload, const ns3::TcpHeader& header,
                      ns3::Ptr<const ns3::TcpSocketBase>);

    const Flow m_flow;
    Network& m_network;
    const TransportOptions& m_options;
    SenderCounts& m_counts;
    ns3::Ptr<ns3::TcpSocketBase> m_sender;
    ns3::Ptr<ns3::TcpSocketBase> m_receiver;
    bool m_started = false;
    bool m_acknowledged = false;
    uint64_t m_unwritten;  // bytes not yet given to the socket
    uint64_t m_received = 0;
    ns3::SequenceNumber32 m_highestSent;
    std::optional<ns3::Time> m_completedAt;
};

/// Runs a set of flows. Flow time 0 is `lead` after the simulation's start.
class ConnectionSet {
  public:
    ConnectionSet(const std::vector<Flow>& flows, Network& network, const TransportOptions& options,
                  ns3::Time lead);

    /// Schedules the first connection; each schedules the next. The simulation stops when all
    /// flows are through.
    void Start();

    const std::vector<std::unique_ptr<Connection>>& Connections() const { return m_connections; }
    const SenderCounts& Counts() const { return m_counts; }
    /// Completion time of a flow; empty if it has not completed.
    std::optional<ns3::Time> CompletionTime(const Connection& connection) const;

  private:
    void OpenDue();
    void Open(Connection& connection);
    void Listen(const Flow& flow);
    void OnAccept(ns3::Ptr<ns3::Socket> socket, const ns3::Address& from);
    void OnAcknowledged(Connection& connection);

    Network& m_network;
    const ns3::Time m_lead;
    const ns3::Time m_linger;  // how long a finished connection stays
    SenderCounts m_counts;
    std::vector<std::unique_ptr<Connection>> m_connections;  // by flow id
    std::vector<uint32_t> m_order;                           // flow ids by start
    size_t m_nextToOpen = 0;
    size_t m_tornDown = 0;
    std::set<std::pair<uint32_t, uint16_t>> m_listening;  // host and port
};

}  // namespace fabric
