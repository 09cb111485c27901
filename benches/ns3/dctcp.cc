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

Ptr<TcpCongestionOps> Dctcp::Fork() {
    return CopyObject<Dctcp>(this);
}

}  // namespace fabric
