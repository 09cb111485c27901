#include "dctcp.h"

#include <ns3/boolean.h>
#include <ns3/tcp-socket-state.h>
#include <ns3/uinteger.h>

#include <algorithm>

using namespace ns3;

namespace fabric {

NS_OBJECT_ENSURE_REGISTERED(Dctcp);

TypeId Dctcp::GetTypeId() {
    static TypeId id =
        TypeId("fabric::Dctcp")
            .SetParent<TcpDctcp>()
            .AddConstructor<Dctcp>()
            .AddAttribute("MinWindow", "Floor of the congestion window after a cut, segments",
                          UintegerValue(2), MakeUintegerAccessor(&Dctcp::m_minWindow),
                          MakeUintegerChecker<uint32_t>())
            .AddAttribute("HalveOnLoss", "Whether a loss halves the window instead of by alpha",
                          BooleanValue(true), MakeBooleanAccessor(&Dctcp::m_halveOnLoss),
                          MakeBooleanChecker())
            .AddAttribute("WholeSegments", "Whether the window grows by whole segments only",
                          BooleanValue(true), MakeBooleanAccessor(&Dctcp::m_wholeSegments),
                          MakeBooleanChecker());
    return id;
}

uint32_t Dctcp::GetSsThresh(Ptr<const TcpSocketState> state, uint32_t bytesInFlight) {
    // The socket does not say why it asks. It asks because of an echoed mark only right after one
    // has arrived, and only while it is not yet reducing for an earlier one.
    const bool marked = state->m_ecnState == TcpSocketState::ECN_ECE_RCVD &&
                        state->m_congState != TcpSocketState::CA_CWR;
    const uint32_t threshold = m_halveOnLoss && !marked
                                   ? state->m_cWnd.Get() / 2
                                   : TcpDctcp::GetSsThresh(state, bytesInFlight);
    return std::max(threshold, m_minWindow * state->m_segmentSize);
}

void Dctcp::IncreaseWindow(Ptr<TcpSocketState> state, uint32_t segmentsAcked) {
    const uint32_t segment = state->m_segmentSize;
    if (m_wholeSegments || state->m_cWnd < state->m_ssThresh) {
        TcpDctcp::IncreaseWindow(state, segmentsAcked);
    } else if (state->m_cWnd < 2 * segment) {
        // Slow start: no threshold is below two segments (RFC 5681 §3.1).
        state->m_cWnd += segmentsAcked * segment;
    } else {
        // RFC 5681 §3.1, equation 3.
        m_fraction += double(segmentsAcked) * segment * segment / state->m_cWnd.Get();
        const auto bytes = static_cast<uint32_t>(m_fraction);
        m_fraction -= bytes;
        state->m_cWnd += bytes;
    }
}

Ptr<TcpCongestionOps> Dctcp::Fork() {
    return CopyObject<Dctcp>(this);
}

}  // namespace fabric
