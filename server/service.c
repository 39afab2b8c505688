#include "service.h"

void fl_service_refresh(struct fl_service *service, uint64_t now, bool force)
{
    if (!force && service->refreshed != 0 && now - service->refreshed < FL_FRESH_NS)
        return;
    fl_pictures_forget(&service->pictures);
    /* On failure the shadow is the last one; the next update tries again. */
    if (fl_shadow_refresh(service->shadow) == 0)
        service->refreshed = now;
}
