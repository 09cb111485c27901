// ns-3's DCTCP with the two things RFC 8257 leaves to conventional TCP and ns-3 3.37 leaves out, and
// with a choice of how windows grow.
#pragma once

#include <ns3/tcp-dctcp.h>

namespace fabric {

/// TcpDctcp, but the window stops shrinking at a floor, losses halve it, and it may grow
/// by fractions of segments.
class Dctcp : public ns3::TcpDctcp {
  public:
    static ns3::TypeId GetTypeId();

    std::string GetName() const override { return "Dctcp"; }
    /// The new slow start threshold at a mark, a fast retransmit or a timeout.
    uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> state,
                         uint32_t bytesInFlight) override;
    /// Growth by what an ACK acknowledges.
    void IncreaseWindow(ns3::Ptr<ns3::TcpSocketState> state, uint32_t segmentsAcked) override;
    ns3::Ptr<ns3::TcpCongestionOps> Fork() override;

  private:
    uint32_t m_minWindow = 0;  // segments
    bool m_halveOnLoss = false;
    bool m_wholeSegments = true;
    double m_fraction = 0;  // of a byte, that growth is ahead of the window
};

}  // namespace fabric
